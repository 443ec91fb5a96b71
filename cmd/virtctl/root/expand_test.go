// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

// F134
func TestExpand_PrintsTheVMAsAManifest(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a")}}
	code, out, errOut := run(t, s, "expand", "a")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	for _, want := range []string{"apiVersion: vm.slipway.dev/v1alpha1\n", "kind: VirtualMachine\n", "  name: a\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

// F134
func TestExpand_MissingVMFailsInOneLine(t *testing.T) {
	code, _, errOut := run(t, &clitest.APIServer{}, "expand", "nope")
	if code != 1 || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "dev/nope") {
		t.Errorf("exit code %d, error %q, want 1 and one line that names dev/nope", code, errOut)
	}
}

// F134
func TestExpand_FileNeedsNoVMOnTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vm.yaml")
	write := func(manifest string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: new}\nspec: {instancetype: {name: u1.small}, image: {name: i}}\n")
	code, out, errOut := run(t, &clitest.APIServer{}, "expand", "--file", file)
	if code != 0 || !strings.Contains(out, "sockets: 2") || !strings.Contains(out, "guest: 3Gi") || strings.Contains(out, "instancetype:") {
		t.Errorf("exit code %d, output:\n%s%s", code, out, errOut)
	}
	stdin, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if code, piped, errOut := runAs(t, "virtctl", string(stdin), &clitest.APIServer{}, "expand", "--file", "-"); code != 0 || piped != out {
		t.Errorf("standard input: exit code %d, output:\n%s%s", code, piped, errOut)
	}
	code, out, errOut = run(t, &clitest.APIServer{}, "expand", "--file", file, "-o", "json")
	var expanded vmv1alpha1.VirtualMachine
	if err := json.Unmarshal([]byte(out), &expanded); code != 0 || err != nil || expanded.Kind != "VirtualMachine" || expanded.Spec.CPU.Sockets != 2 {
		t.Errorf("JSON: exit code %d, error %v, output:\n%s%s", code, err, out, errOut)
	}
	for manifest, want := range map[string]string{
		"apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: new}\nspec: {instancetype: {name: missing}}\n": "missing",
		"apiVersion: [": "did not find expected",
		"apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n":                                   `vm.yaml has apiVersion "v1", kind "ConfigMap": must be vm.slipway.dev/v1alpha1, VirtualMachine`,
		"apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nspec: {colour: blue}\n": `unknown field "colour"`,
	} {
		write(manifest)
		if code, _, errOut := run(t, &clitest.APIServer{}, "expand", "--file", file); code != 1 || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%s: exit code %d, error %q, want one line with %q", manifest, code, errOut, want)
		}
	}
}

// F134
func TestExpand_AcceptsOneNameOrAFile(t *testing.T) {
	for _, args := range [][]string{{"expand"}, {"expand", "a", "b"}, {"expand", "a", "--file", "vm.yaml"}} {
		code, out, errOut := run(t, &clitest.APIServer{}, args...)
		if code != 1 || out != "" || !strings.Contains(errOut, "the name of one virtual machine or --file") {
			t.Errorf("%v: exit code %d, output %q, error %q", args, code, out, errOut)
		}
	}
}
