// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-dev/slipway/test/documented"
	"github.com/slipway-dev/slipway/test/testenv"
)

// theVolume is the data directory of the server in its container.
const theVolume = "/data"

// documented returns the commands of a section of a page for operators.
func (s *storeScene) documented(page, heading string) []string {
	s.Helper()
	all, err := documented.Commands(project, documented.Operate+page, heading)
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// follow runs documented commands. There are no containers: a command for a container runs on the directory that
// replaces the volume, and scaling stops or starts the server.
func (s *storeScene) follow(commands []string) {
	s.Helper()
	for _, command := range commands {
		s.Logf("$ %s", command)
		words := strings.Fields(command)
		var in, out string
		last := words[len(words)-1]
		switch last[0] {
		case '<':
			in, words = filepath.Join(s.dir, last[1:]), words[:len(words)-1]
		case '>':
			out, words = filepath.Join(s.dir, last[1:]), words[:len(words)-1]
		}
		switch {
		case words[0] == "virtctl":
			s.program("virtctl", "", s.here(words[1:])...)
		case slices.Contains(words, "scale") && slices.Contains(words, "--replicas=0"):
			if err := s.KillSlipway(); err != nil {
				s.Fatal(err)
			}
		case slices.Contains(words, "scale"):
			if err := s.RestartSlipway(s.Context()); err != nil {
				s.Fatal(err)
			}
		case slices.Contains(words, "exec"):
			i := slices.Index(words, "--")
			said := s.program(words[i+1], in, s.here(words[i+2:])...)
			if out != "" {
				if err := os.WriteFile(out, said, 0o600); err != nil {
					s.Fatal(err)
				}
			}
		case slices.Contains(words, "attach"):
			made := s.container(words[len(words)-1])
			s.program(made[0], in, s.here(made[1:])...)
		case slices.Contains(words, "--for=condition=Ready"):
			// No kubelet runs pods here.
		case words[0] == "kubectl":
			s.program("kubectl", in, words[1:]...)
		default:
			s.Fatalf("cannot run %q", command)
		}
	}
}

// here replaces the files in the arguments by those of this test.
func (s *storeScene) here(words []string) []string {
	var out []string
	for _, word := range words {
		word = strings.Replace(word, "--data-dir="+theVolume, "--data-dir="+s.SlipwayDataDir(), 1)
		if strings.HasSuffix(word, ".db") {
			word = filepath.Join(s.dir, word)
		}
		out = append(out, word)
	}
	return out
}

// container returns the command in the manifest of a pod. The pod must use the volume of the first replica.
func (s *storeScene) container(pod string) []string {
	s.Helper()
	var got corev1.Pod
	if err := json.Unmarshal(s.program("kubectl", "", "get", "pod", "-n", "slipway-system", pod, "-o", "json"), &got); err != nil {
		s.Fatal(err)
	}
	c := got.Spec.Containers[0]
	if v := got.Spec.Volumes[0].PersistentVolumeClaim; v == nil || v.ClaimName != "data-slipway-apiserver-0" || c.VolumeMounts[0].MountPath != theVolume || !c.Stdin {
		s.Errorf("pod %s has the volume %+v at %s, standard input: %t", pod, v, c.VolumeMounts[0].MountPath, c.Stdin)
	}
	return c.Command
}

// program runs a program with a file as standard input, and returns its output.
func (s *storeScene) program(name, in string, args ...string) []byte {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), filepath.Join(testenv.BinDir(), name), args...)
	cmd.Dir, cmd.Env = project, append(os.Environ(), "HOME="+s.TempDir(), "KUBECONFIG="+s.AdminKubeconfig)
	if in != "" {
		f, err := os.Open(in)
		if err != nil {
			s.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		cmd.Stdin = f
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.Bytes()
}
