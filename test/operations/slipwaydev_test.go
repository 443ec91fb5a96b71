// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
)

// slipwayDev runs slipway-dev on a data directory. It must succeed.
func slipwayDev(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, errOut, err := testenv.Run(t, "", "slipway-dev", append(args, "--data-dir="+dir)...)
	if err != nil {
		t.Fatalf("slipway-dev %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut)
	}
	return out
}

// devDir returns a data directory whose path has a space. The test stops its environment at the end.
func devDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway dev-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd := exec.Command(testenv.BinDir()+"/slipway-dev", "reset", "--data-dir="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("slipway-dev reset: %v\n%s", err, out)
		}
	})
	return dir
}

// identity identifies the VM of the quick start: the UID of the object, and the VM in vSphere.
func identity(t *testing.T, dir string) string {
	t.Helper()
	return testenv.AsAdmin(t, localcluster.AdminKubeconfig(dir)).Kubectl("get", "vm", "web-1", "-o",
		`jsonpath={.metadata.uid} {.status.uniqueID} {.status.powerState} {.metadata.labels.kept}`)
}

// nothingLeft waits until no process has the data directory on its command line and all its ports are free.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	testenv.Eventually(t, testenv.Short, "all processes of the environment have ended", func() error {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, path := range lines {
			// A process may end between being listed and being read.
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), dir) {
				return fmt.Errorf("%s is %s", path, strings.ReplaceAll(string(data), "\x00", " "))
			}
		}
		return nil
	})
	data, err := os.ReadFile(filepath.Join(dir, "ports.json"))
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]int{}
	if err := json.Unmarshal(data, &ports); err != nil {
		t.Fatal(err)
	}
	if len(ports) != 4 {
		t.Errorf("ports %v, want those of four servers", ports)
	}
	// The command line of a killed process is empty before the kernel closes its sockets.
	testenv.Eventually(t, testenv.Short, "all ports of the environment are free", func() error {
		for name, port := range ports {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return fmt.Errorf("the port of %s: %w", name, err)
			}
			_ = l.Close()
		}
		return nil
	})
}

func TestSlipwayDev_ResumesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := devDir(t)
	out := slipwayDev(t, dir, "up")
	for _, want := range []string{"kube-apiserver", "web-1", "PoweredOn", "KUBECONFIG='" + localcluster.AdminKubeconfig(dir) + "' PATH="} {
		if !strings.Contains(out, want) {
			t.Errorf("up printed no %q:\n%s", want, out)
		}
	}
	if out := slipwayDev(t, dir, "status"); !strings.Contains(out, "available") || strings.Contains(out, "not listening") {
		t.Errorf("status of a running environment:\n%s", out)
	}
	if out := slipwayDev(t, dir, "up"); !strings.Contains(out, "is already running in "+dir) || !strings.Contains(out, "KUBECONFIG='"+localcluster.AdminKubeconfig(dir)+"'") {
		t.Errorf("second up printed:\n%s", out)
	}
	if out, errOut, err := testenv.Run(t, "", "slipway-dev", "run", "--data-dir="+dir); err == nil || !strings.Contains(errOut, "slipway-dev down --data-dir='"+dir+"'") {
		t.Errorf("second run: %v\n%s%s", err, out, errOut)
	}
	testenv.AsAdmin(t, localcluster.AdminKubeconfig(dir)).Kubectl("label", "vm", "web-1", "kept=yes")
	before := identity(t, dir)
	slipwayDev(t, dir, "down")
	nothingLeft(t, dir)
	if out, errOut, err := testenv.Run(t, "", "slipway-dev", "status", "--data-dir="+dir); err == nil || !strings.Contains(errOut, "no environment is running") {
		t.Errorf("status after down: %v\n%s%s", err, out, errOut)
	}

	interruptRun(t, dir, "Ctrl-C stops everything", func() {
		if diff := cmp.Diff(before, identity(t, dir)); diff != "" {
			t.Errorf("the VM after a restart (-before +after):\n%s", diff)
		}
	})
	nothingLeft(t, dir)
}

// interruptRun runs the environment in the foreground and calls inside when a line with text is printed. It ends the
// run as Ctrl-C does, and returns the output.
func interruptRun(t *testing.T, dir, text string, inside func()) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*testenv.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, testenv.BinDir()+"/slipway-dev", "run", "--data-dir="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // prints the current state
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	interrupted := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		seen = append(seen, lines.Text())
		if strings.Contains(lines.Text(), text) && !interrupted {
			inside()
			interrupted = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !interrupted {
		t.Errorf("run: %v, interrupted: %v\n%s", err, interrupted, strings.Join(seen, "\n"))
	}
	return strings.Join(seen, "\n")
}

func TestSlipwayDev_LeavesNothingWhenInterruptedOrKilled(t *testing.T) {
	t.Parallel()
	dir := devDir(t)
	for _, step := range []string{"  etcd ", "  kube-apiserver ", "  slipway-apiserver "} {
		out := interruptRun(t, dir, step, func() {})
		if !strings.Contains(out, "everything") {
			t.Errorf("interrupted after%sthe run does not report that everything is stopped:\n%s", step, out)
		}
		nothingLeft(t, dir)
	}
	slipwayDev(t, dir, "up")

	t.Log("it is killed")
	pid, err := localcluster.Running(dir)
	if err != nil || pid == 0 {
		t.Fatalf("Running = %d, %v", pid, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, dir)
}

func TestSlipwayDev_ReportsAPortInUseInOneLine(t *testing.T) {
	t.Parallel()
	dir := devDir(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	kept := fmt.Sprintf(`{"kube-apiserver": %d}`, port)
	if err := os.WriteFile(filepath.Join(dir, "ports.json"), []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, err := testenv.Run(t, "", "slipway-dev", "up", "--data-dir="+dir)
	want := fmt.Sprintf("slipway-dev: port %d of kube-apiserver is in use", port)
	if err == nil || !strings.HasPrefix(errOut, want) || strings.Count(errOut, "\n") != 1 {
		t.Errorf("up: %v, standard error %q, want one line %q", err, errOut, want)
	}
}
