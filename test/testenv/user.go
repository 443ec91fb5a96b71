// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

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
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
)

// Deadlines of the tests, many times the duration on an idle machine. A test that waits this long has failed.
const (
	Short = 60 * time.Second
	Long  = 2 * time.Minute
)

// Run executes a program of the environment and returns its output. virtctl runs in the process of the test.
func Run(t *testing.T, stdin, program string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Long)
	defer cancel()
	var out, errOut bytes.Buffer
	if program == "virtctl" {
		cache := filepath.Dir(Of(t).AdminKubeconfig)
		flags := genericclioptions.NewConfigFlags(true)
		flags.CacheDir = &cache
		code := root.Main(ctx, append([]string{program}, args...), flags, genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut})
		if code != 0 {
			err = fmt.Errorf("exit status %d", code)
		}
		return out.String(), errOut.String(), err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(BinDir(), program), args...)
	cmd.Env = append(os.Environ(),
		"HOME="+t.TempDir(), // separates the discovery caches of kubectl
		"PATH="+BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = 10 * time.Second // for files that a child of the program holds open
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// User runs programs with the kubeconfig of one user, in one namespace.
type User struct {
	T          *testing.T
	Kubeconfig string
	Namespace  string
}

// Admin is a user in system:masters with a namespace of its own.
func Admin(t *testing.T) User {
	t.Helper()
	u := User{T: t, Kubeconfig: Of(t).AdminKubeconfig, Namespace: namespaceFor(t)}
	u.Put("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + u.Namespace + "}\n")
	u.RemoveAtEnd("namespace/" + u.Namespace)
	return u
}

// namespaceFor derives a namespace from the name of the test. Every call returns another one, because the namespace of
// the previous run may still be in deletion, and cached permissions of the server must not affect this run.
func namespaceFor(t *testing.T) string {
	const longest, suffix = 63, 5 // a DNS label, and the random suffix
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

// Try runs a program as the user in the namespace.
func (u User) Try(stdin, program string, args ...string) (stdout, stderr string, err error) {
	u.T.Helper()
	return Run(u.T, stdin, program, append([]string{"--kubeconfig", u.Kubeconfig, "--namespace", u.Namespace}, args...)...)
}

// Kubectl runs kubectl, which must succeed, and returns its standard output.
func (u User) Kubectl(args ...string) string {
	u.T.Helper()
	out, errOut, err := u.Try("", "kubectl", args...)
	if err != nil {
		u.T.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

// Apply applies a manifest, which must succeed.
func (u User) Apply(manifest string, args ...string) string {
	u.T.Helper()
	out, errOut, err := u.Try(manifest, "kubectl", append([]string{"apply", "-f", "-"}, args...)...)
	if err != nil {
		u.T.Fatalf("kubectl apply: %v\n%s%s\n%s", err, out, errOut, manifest)
	}
	return out + errOut
}

// Virtctl runs virtctl, which must succeed, and returns its standard output.
func (u User) Virtctl(args ...string) string {
	u.T.Helper()
	out, errOut, err := u.Try("", "virtctl", args...)
	if err != nil {
		u.T.Fatalf("virtctl %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

// Refused runs kubectl, which must fail with all texts.
func (u User) Refused(stdin string, args []string, texts ...string) {
	u.T.Helper()
	out, errOut, err := u.Try(stdin, "kubectl", args...)
	if err == nil {
		u.T.Errorf("kubectl %s succeeded, want an error with %q\n%s", strings.Join(args, " "), texts, out)
		return
	}
	for _, text := range texts {
		if !strings.Contains(errOut, text) {
			u.T.Errorf("kubectl %s was refused without %q:\n%s", strings.Join(args, " "), text, errOut)
		}
	}
}

// Get reads one field of an object by JSONPath. It returns "" if the object does not exist.
func (u User) Get(object, path string) string {
	u.T.Helper()
	r, err := readerOf(u.Kubeconfig)
	if err != nil {
		u.T.Fatal(err)
	}
	got, err := r.read(u.T, u.Namespace, object, path)
	if err != nil {
		u.T.Fatalf("reading %s of %s: %v", path, object, err)
	}
	return got
}

// Eventually waits until check returns nil.
func Eventually(t *testing.T, deadline time.Duration, what string, check func() error) {
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

// Wants waits until a field of an object has a value.
func (u User) Wants(object, path, value string) {
	u.T.Helper()
	Eventually(u.T, Long, fmt.Sprintf("%s of %s is %q", path, object, value), func() error {
		if got := u.Get(object, path); got != value {
			return fmt.Errorf("it is %q; conditions: %s", got, u.Get(object, ".status.conditions"))
		}
		return nil
	})
}

// Restarted waits until the restart of a VM is recorded.
func (u User) Restarted(vm string) {
	u.T.Helper()
	Eventually(u.T, Long, "the restart of "+vm+" is recorded", func() error {
		if u.Get("vm/"+vm, ".status.lastRestartTime") == "" {
			return fmt.Errorf("status.lastRestartTime is empty; conditions: %s", u.Get("vm/"+vm, ".status.conditions"))
		}
		return nil
	})
}

// SharedLibrary creates a ContentLibrary in which all namespaces may publish, with images of one item, and returns the
// name of both.
func (u User) SharedLibrary() string {
	u.T.Helper()
	name := "pub-" + u.Namespace[len(u.Namespace)-5:] // such objects are cluster-scoped
	u.Put(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: ContentLibrary
metadata: {name: %s}
spec:
  library: slipway
  include: [%[1]s]
  publishFrom: {}
`, name))
	return name
}

// KillSlipway kills the server and returns when the next process is ready.
func (u User) KillSlipway() {
	u.T.Helper()
	if err := Of(u.T).KillSlipway(); err != nil {
		u.T.Fatal(err)
	}
	u.RestartSlipway()
}

// RestartSlipway returns when the server is ready again.
func (u User) RestartSlipway() {
	u.T.Helper()
	if err := Of(u.T).RestartSlipway(u.T.Context()); err != nil {
		u.T.Fatal(err)
	}
	// While the server was unavailable, discovery did not list its kinds.
	Eventually(u.T, Long, "the kinds are known again", func() error {
		return u.TryCreate(VM("known"))
	})
}

// AsAdmin returns an administrator in the namespace default, for tests that create no objects.
func AsAdmin(t *testing.T, kubeconfig string) User {
	return User{T: t, Kubeconfig: kubeconfig, Namespace: "default"}
}

// Holds fails the test for every text that is missing on a screen.
func Holds(t *testing.T, what, screen string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			t.Errorf("%s does not show %q:\n%s", what, text, screen)
		}
	}
}
