// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestHelp_HasEveryCommandInAGroup(t *testing.T) {
	code, out, errOut := run(t, &clitest.APIServer{}, "--help")
	if code != 0 || strings.Contains(out, "Additional Commands:") {
		t.Errorf("exit %d: some commands are in no group: %s\n%s", code, errOut, out)
	}
	for _, title := range []string{"View virtual machines:\n", "Install and operate Slipway:\n", "Other commands:\n  completion "} {
		if !strings.Contains(out, title) {
			t.Errorf("there is no %q:\n%s", title, out)
		}
	}
}

func TestREADME_NamesEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(readme), "\n| `virtctl` | ")
	row, _, _ = strings.Cut(row, " |\n")
	words := strings.FieldsFunc(row, func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '.' || r == '`' })
	top := root.NewCommand("virtctl", cli.NewFactory(genericclioptions.NewConfigFlags(true), genericiooptions.NewTestIOStreamsDiscard()))
	for _, c := range top.Commands() {
		if c.Name() != "help" && !slices.Contains(words, c.Name()) {
			t.Errorf("the README's row of virtctl does not name %s: %s", c.Name(), row)
		}
	}
}

func TestDryRun_AcceptsTheValuesOfKubectl(t *testing.T) {
	for flag, want := range map[string]string{
		"--dry-run": "All", "--dry-run=server": "All", "--dry-run=true": "All", "--dry-run=none": "", "--dry-run=false": "",
	} {
		for _, args := range [][]string{{"stop", "a"}, {"refresh", "instancetype", "a"}} {
			s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}}
			if code, _, errOut := run(t, s, append(args, flag)...); code != 0 || len(s.Requests) != 1 {
				t.Fatalf("%s %s: exit code %d, requests %q: %s", args[0], flag, code, s.Requests, errOut)
			}
			if got := strings.Contains(s.Requests[0], "dryRun=All"); got != (want != "") {
				t.Errorf("%s %s sent %q, want dryRun %q", args[0], flag, s.Requests[0], want)
			}
		}
	}
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}}
	code, _, errOut := run(t, s, "stop", "a", "--dry-run=client")
	want := "error: invalid argument \"client\" for \"--dry-run\" flag: use one of none, server\n"
	if diff := cmp.Diff([]any{1, want, 0}, []any{code, errOut, len(s.Requests)}); diff != "" {
		t.Error(diff)
	}
}

// F134 F160
func TestOutput_RejectsUnknownFormatsWithTheAllowedOnes(t *testing.T) {
	for _, args := range [][]string{{"refresh", "instancetype", "a", "-o", "xml"}, {"expand", "a", "-o", "xml"}} {
		code, out, errOut := run(t, &clitest.APIServer{}, args...)
		if code != 1 || out != "" || !strings.Contains(errOut, `--output "xml" is not supported: use one of`) {
			t.Errorf("%v: exit code %d, output %q, error %q", args, code, out, errOut)
		}
	}
}

func TestProgramName_IsTheNameThatWasCalled(t *testing.T) {
	for arg0, want := range map[string]string{"/usr/bin/virtctl": "virtctl", "/usr/bin/kubectl-virt": "kubectl virt", "kubectl-slipway": "kubectl slipway"} {
		if got := cli.ProgramName(arg0); got != want {
			t.Errorf("programName(%q) = %q, want %q", arg0, got, want)
		}
	}
}
