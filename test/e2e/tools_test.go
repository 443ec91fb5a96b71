// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Deadlines of the stories, many times what an idle machine needs: a test that
// waits this long has failed.
const (
	short = 60 * time.Second
	long  = 2 * time.Minute
)

// run executes a program of the environment and returns what it printed.
func run(t *testing.T, stdin, program string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, program), args...)
	cmd.Env = append(os.Environ(),
		"HOME="+t.TempDir(), // keeps the discovery cache of kubectl apart
		"PATH="+binDir+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = 10 * time.Second // for what a child of the program holds open
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// user runs programs with the kubeconfig of one person, in one namespace.
type user struct {
	t          *testing.T
	kubeconfig string
	namespace  string
}

// admin is a user in system:masters with a namespace of its own.
func admin(t *testing.T) user {
	t.Helper()
	u := user{t: t, kubeconfig: environment(t).AdminKubeconfig, namespace: namespaceFor(t)}
	u.kubectl("create", "namespace", u.namespace)
	t.Cleanup(func() {
		cleanup := exec.Command(filepath.Join(binDir, "kubectl"), "--kubeconfig", u.kubeconfig,
			"delete", "namespace", u.namespace, "--ignore-not-found", "--wait=false")
		if out, err := cleanup.CombinedOutput(); err != nil {
			t.Logf("deleting namespace %s: %v\n%s", u.namespace, err, out)
		}
	})
	return u
}

// namespaceFor derives a namespace from the name of the test. Every call gives
// another one: one of the run before may still be being deleted, and what the server
// remembers about the rights in it must not answer for this run.
func namespaceFor(t *testing.T) string {
	const longest, suffix = 63, 5 // a DNS label, and what is drawn for it
	var b strings.Builder
	for i, r := range strings.TrimPrefix(t.Name(), "Test") {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
		}
	}
	name := b.String()
	if end := longest - suffix - 1; len(name) > end {
		name = strings.Trim(name[:end], "-")
	}
	return name + "-" + rand.String(suffix)
}

func (u user) try(stdin, program string, args ...string) (stdout, stderr string, err error) {
	u.t.Helper()
	return run(u.t, stdin, program, append([]string{"--kubeconfig", u.kubeconfig, "--namespace", u.namespace}, args...)...)
}

// kubectl must succeed; it returns standard output.
func (u user) kubectl(args ...string) string {
	u.t.Helper()
	out, errOut, err := u.try("", "kubectl", args...)
	if err != nil {
		u.t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

// apply applies a manifest, which must succeed.
func (u user) apply(manifest string, args ...string) string {
	u.t.Helper()
	out, errOut, err := u.try(manifest, "kubectl", append([]string{"apply", "-f", "-"}, args...)...)
	if err != nil {
		u.t.Fatalf("kubectl apply: %v\n%s%s\n%s", err, out, errOut, manifest)
	}
	return out + errOut
}

// virtctl must succeed; it returns standard output.
func (u user) virtctl(args ...string) string {
	u.t.Helper()
	out, errOut, err := u.try("", "virtctl", args...)
	if err != nil {
		u.t.Fatalf("virtctl %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

// refused runs kubectl, which must fail with every one of the texts.
func (u user) refused(stdin string, args []string, texts ...string) {
	u.t.Helper()
	out, errOut, err := u.try(stdin, "kubectl", args...)
	if err == nil {
		u.t.Errorf("kubectl %s succeeded, want a refusal that says %q\n%s", strings.Join(args, " "), texts, out)
		return
	}
	for _, text := range texts {
		if !strings.Contains(errOut, text) {
			u.t.Errorf("kubectl %s was refused without %q:\n%s", strings.Join(args, " "), text, errOut)
		}
	}
}

// get reads one field of an object by JSONPath, "" when the object is not there.
func (u user) get(object, path string) string {
	u.t.Helper()
	r, err := readerOf(u.kubeconfig)
	if err != nil {
		u.t.Fatal(err)
	}
	got, err := r.read(u.t, u.namespace, object, path)
	if err != nil {
		u.t.Fatalf("reading %s of %s: %v", path, object, err)
	}
	return got
}

// eventually waits until check returns nil.
func eventually(t *testing.T, deadline time.Duration, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, deadline, last)
	}
}

// wants waits until a field of an object has a value.
func (u user) wants(object, path, value string) {
	u.t.Helper()
	eventually(u.t, long, fmt.Sprintf("%s of %s is %q", path, object, value), func() error {
		if got := u.get(object, path); got != value {
			return fmt.Errorf("it is %q; conditions: %s", got, u.get(object, ".status.conditions"))
		}
		return nil
	})
}

// restarted waits until the restart of a VM is recorded.
func (u user) restarted(vm string) {
	u.t.Helper()
	eventually(u.t, long, "the restart of "+vm+" is recorded", func() error {
		if u.get("vm/"+vm, ".status.lastRestartTime") == "" {
			return errorf("status.lastRestartTime is empty; conditions: %s", u.get("vm/"+vm, ".status.conditions"))
		}
		return nil
	})
}

// killSlipway kills the server, and returns when another one serves.
func (u user) killSlipway() {
	u.t.Helper()
	if err := environment(u.t).KillSlipway(); err != nil {
		u.t.Fatal(err)
	}
	u.restartSlipway()
}

// restartSlipway returns when the server serves.
func (u user) restartSlipway() {
	u.t.Helper()
	if err := environment(u.t).RestartSlipway(u.t.Context()); err != nil {
		u.t.Fatal(err)
	}
	// The aggregator may have found the kinds gone while the server was away.
	eventually(u.t, long, "the kinds are known again", func() error {
		_, errOut, err := u.try("", "kubectl", "get", "vm,vmgroup")
		if err != nil {
			return errorf("%s", errOut)
		}
		return nil
	})
}
