// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clients are the examples of docs/how-to/go-client.md.
const clients = "../../artifacts/clients"

// lifeOf runs an example and checks that its output covers the whole life of a VM.
func lifeOf(t *testing.T, name, readyWith, program string, args ...string) {
	t.Helper()
	u := admin(t)
	u.example("../../artifacts/examples/quickstart.yaml")
	args = append(args, "--kubeconfig", u.Kubeconfig, "--namespace", u.Namespace, "--name", name)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "KUBE_CACHE_MUTATION_DETECTOR=") // prints a line if it is set
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) > 1 && strings.HasPrefix(lines[1], name+" is ready "+readyWith) {
		lines[1] = name + " is ready"
	}
	want := []string{name + " exists", name + " is ready", name + " is PoweredOff", name + " is deleted"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if got := u.Get("vm", ".items[*].metadata.name"); strings.Contains(got, name) {
		t.Errorf("%s is left: %s", name, got)
	}
}

func TestClients_OfProgramsOutsideOfTheRepository(t *testing.T) {
	t.Parallel()
	for module, readyWith := range map[string]string{"go": "at 1", "controller-runtime": "with 1 vCPUs"} {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "example")
			build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
			build.Dir = filepath.Join(clients, module)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			lifeOf(t, "of-"+module, readyWith, program)
		})
	}
}

// hack/install-python-client.sh installs the interpreter. If it could not, it has printed the reason.
func TestClients_OfPython(t *testing.T) {
	t.Parallel()
	python, err := os.ReadFile("../../.cache/python-client")
	if errors.Is(err, fs.ErrNotExist) {
		t.Log("NOT RUN: run make python-client first")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	lifeOf(t, "of-python", "at 1", strings.TrimSpace(string(python)), filepath.Join(clients, "python", "example.py"))
}
