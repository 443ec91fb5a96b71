// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestCompletion_OffersValidWords(t *testing.T) {
	s := &clitest.APIServer{VMs: []vmv1alpha1.VirtualMachine{clitest.Machine("dev", "a"), clitest.Machine("dev", "b"), clitest.Machine("prod", "c")}}
	s.Libraries = []vmv1alpha1.ContentLibrary{{Spec: vmv1alpha1.ContentLibrarySpec{Library: "golden"}}}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"names not yet given":              {[]string{"start", "a", ""}, "b\n:4\n"},
		"names of another namespace":       {[]string{"start", "-n", "prod", ""}, "c\n:4\n"},
		"one name of a verb that has one":  {[]string{"expand", ""}, "a\nb\n:4\n"},
		"no more after it":                 {[]string{"expand", "a", ""}, ":4\n"},
		"namespaces":                       {[]string{"start", "--namespace", ""}, "dev\nprod\n:4\n"},
		"contexts of the kubeconfig":       {[]string{"start", "--context", ""}, "c\n:4\n"},
		"values of --mode":                 {[]string{"stop", "a", "--mode", ""}, "Hard\nSoft\nTrySoft\n:4\n"},
		"values of --output":               {[]string{"refresh", "preference", "a", "-o", ""}, "table\nyaml\njson\n:4\n"},
		"values of --dry-run":              {[]string{"stop", "a", "--dry-run="}, "none\nserver\n:4\n"},
		"what can be refreshed":            {[]string{"refresh", "i"}, "instancetype\tUpdate virtual machines to the latest generation of their instance type\n:4\n"},
		"libraries that are published":     {[]string{"image", "import", "--library", ""}, "golden\n:4\n"},
		"files that can be imported":       {[]string{"image", "import", "--library", "golden", ""}, "ova\novf\niso\n:8\n"},
		"nothing when there is no cluster": {[]string{"--server=http://127.0.0.1:1", "start", ""}, ":4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, _ := run(t, s, append([]string{"__complete"}, tc.args...)...)
			if diff := cmp.Diff([]any{0, tc.want}, []any{code, out}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCommands_RejectUnknownSubcommands(t *testing.T) {
	top := root.NewCommand("virtctl", cli.NewFactory(genericclioptions.NewConfigFlags(true), genericiooptions.NewTestIOStreamsDiscard()))
	parents := slices.DeleteFunc(append([]*cobra.Command{top}, top.Commands()...), func(c *cobra.Command) bool { return !c.HasSubCommands() })
	if len(parents) < 5 {
		t.Errorf("%d commands have others below them, want more", len(parents))
	}
	for _, parent := range parents {
		args, program := []string{"bogus"}, "virtctl"
		if parent != top {
			args, program = []string{parent.Name(), "bogus"}, program+" "+parent.Name()
		}
		code, out, errOut := run(t, &clitest.APIServer{}, args...)
		if diff := cmp.Diff([]any{1, "", "error: unknown command \"bogus\" for \"" + program + "\"\n"}, []any{code, out, errOut}); diff != "" {
			t.Errorf("virtctl %s: %s", args, diff)
		}
	}
}

func TestPower_MissingAPIIsNotAMissingVM(t *testing.T) {
	code, _, errOut := run(t, &clitest.APIServer{Absent: true}, "start", "a")
	want := "error: virtualmachine dev/a: the cluster does not serve vm.slipway.dev/v1alpha1\n"
	if diff := cmp.Diff([]any{1, want}, []any{code, errOut}); diff != "" {
		t.Error(diff)
	}
}
