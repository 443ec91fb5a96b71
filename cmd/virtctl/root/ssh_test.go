// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/ssh"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// fakeSSH puts an ssh into PATH that writes its arguments, one a line, to the file that is
// returned, and to its output, and ends with a code.
func fakeSSH(t *testing.T, code string) (argv string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Fatal("this test needs a shell")
	}
	dir := t.TempDir()
	argv = filepath.Join(dir, "argv")
	script := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; done | tee '" + argv + "'\nexit " + code + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", filepath.Join(dir, "my home"))
	return argv
}

func reachable(address string) vmv1alpha1.VirtualMachine {
	vm := clitest.Machine("dev", "web")
	vm.UID, vm.Status.PrintableStatus = "uid-1", "Running"
	if address != "" {
		vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: address}
	}
	return vm
}

func TestSSH_PassesTheAddressAndTheHostKeyAlias(t *testing.T) {
	argv := fakeSSH(t, "0")
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{reachable("192.0.2.7")}}
	code, out, errOut := run(t, s, "ssh", "web", "-l", "admin", "-p", "2222", "-i", "/key", "--ssh-option", "BatchMode=yes", "--", "echo", "-n", "a b")
	if code != 0 || errOut != "" {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	got := linesOf(t, argv)
	if strings.Join(got, "\n")+"\n" != out {
		t.Errorf("output %q, want that of ssh", out)
	}
	known := got[3]
	if file, ok := strings.CutPrefix(known, `UserKnownHostsFile="`+filepath.Join(os.Getenv("HOME"), ".ssh", "slipway")); !ok || !strings.HasSuffix(file, `/dev/web"`) {
		t.Errorf("known hosts %q, want a file of the VM below the home directory", known)
	}
	want := []string{
		"-o", "HostKeyAlias=uid-1.vm.slipway.dev", "-o", known, "-o", "CheckHostIP=no", "-o", "HashKnownHosts=no",
		"-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-l", "admin", "-p", "2222", "-i", "/key", "192.0.2.7", "echo", "-n", "a b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func TestSSH_ExitsWithTheStatusOfSSH(t *testing.T) {
	fakeSSH(t, "7")
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{reachable("192.0.2.7")}}
	if code, _, errOut := run(t, s, "ssh", "admin@web"); code != 7 || errOut != "" {
		t.Errorf("exit code %d, errors %q; want 7 and nothing of virtctl", code, errOut)
	}
}

func TestSSH_ReportsTheAddressAfterAFailure(t *testing.T) {
	argv := fakeSSH(t, "255")
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{reachable("192.0.2.7")}}
	code, _, errOut := run(t, s, "ssh", "web", "--ssh-option", "ConnectTimeout=3")
	want := "virtualmachine dev/web: ssh failed to connect, or the command exited with status 255: this machine must reach 192.0.2.7, " +
		"and the guest must run an SSH server (guests of a simulated vCenter have no operating system)\n"
	if code != 255 || errOut != want {
		t.Errorf("exit code %d, errors %q; want 255 and %q", code, errOut, want)
	}
	got := linesOf(t, argv)
	if users, own := slices.Index(got, "ConnectTimeout=3"), slices.Index(got, "ConnectTimeout=10"); users < 0 || own < users {
		t.Errorf("arguments %q; want the timeout of the user first, which ssh uses", got)
	}
}

func TestSSH_DetectsARecreatedVM(t *testing.T) {
	argv := fakeSSH(t, "0")
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{reachable("192.0.2.7")}}
	connect := func() (alias, file, says string) {
		code, _, errOut := clitest.RunInBubble(t.Context(), t, s, "ssh", "web")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errOut)
		}
		got := linesOf(t, argv)
		return strings.TrimPrefix(got[1], "HostKeyAlias="), strings.Trim(strings.TrimPrefix(got[3], "UserKnownHostsFile="), `"`), errOut
	}
	alias, file, says := connect()
	if says != "" || alias != "uid-1.vm.slipway.dev" {
		t.Fatalf("the first time: %s, %q", alias, says)
	}
	if err := os.WriteFile(file, []byte(alias+" ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, says := connect(); says != "" {
		t.Errorf("the second time: %q; want it known", says)
	}
	s.VMs[0].UID = "uid-2"
	if other, in, says := connect(); !strings.Contains(says, "virtualmachine dev/web was recreated since your last connection") || other == alias || in != file {
		t.Errorf("made again: %s in %s, %q; want it noticed, by another alias in the same file", other, in, says)
	}
}

func TestSSH_ConnectsOnlyToUnicastAddresses(t *testing.T) {
	for name, tc := range map[string]struct{ address, want string }{
		"none":            {"", "it has no address; its status is Running"},
		"loopback":        {"127.0.0.1", "which is not a unicast address of a virtual machine"},
		"loopback as IP6": {"::ffff:127.0.0.1", "which is not a unicast address of a virtual machine"},
		"everywhere":      {"0.0.0.0", "which is not a unicast address of a virtual machine"},
		"many":            {"224.0.0.1", "which is not a unicast address of a virtual machine"},
		"an option":       {"-oProxyCommand=evil", "which is not a valid address"},
		"a name":          {"example.com", "which is not a valid address"},
		"another link":    {"fe80::1%eth0", "which is not a valid address"},
		"IP4":             {"192.0.2.7", ""},
		"IP6":             {"2001:db8::7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			argv := fakeSSH(t, "0")
			code, _, errOut := run(t, &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{reachable(tc.address)}}, "ssh", "web")
			if tc.want == "" {
				if got := linesOf(t, argv); code != 0 || got[len(got)-1] != tc.address {
					t.Errorf("exit code %d, %s, arguments %q, want %q", code, errOut, got, tc.address)
				}
			} else if _, err := os.Stat(argv); code != 1 || !strings.Contains(errOut, tc.want) || err == nil {
				t.Errorf("exit code %d, %q, want %q and no ssh", code, errOut, tc.want)
			}
		})
	}
}

func TestSSH_RejectsInvalidFlags(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{reachable("192.0.2.7")}}
	for want, args := range map[string][]string{
		"specify one virtual machine": {"ssh"},
		"and -- before the command":   {"ssh", "web", "uname"},
		"the user is specified twice": {"ssh", "a@web", "-l", "b"},
		"must not begin with -":       {"ssh", "web", "--username=-oProxyCommand=evil"},
		"from 1 to 65535":             {"ssh", "web", "-p", "70000"},
		"dev/gone: not found":         {"ssh", "gone"},
	} {
		if code, _, errOut := run(t, s, args...); code != 1 || !strings.Contains(errOut, want) {
			t.Errorf("%q: exit code %d, %q; want %q", args, code, errOut, want)
		}
	}
}

func TestSSH_HostKeyFilesHaveSafeNames(t *testing.T) {
	for text, want := range map[string]string{
		"https://10.0.0.1:6443": "10.0.0.1_6443", "https://rancher/k8s/clusters/c-1/": "rancher_k8s_clusters_c-1",
		"../../etc": "_.._etc", "web-1.example": "web-1.example", "https://[::1]:6443": "___1__6443",
	} {
		if got := ssh.FileName(text); got != want {
			t.Errorf("%s becomes %q, want %q", text, got, want)
		}
	}
}
