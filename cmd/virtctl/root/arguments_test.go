// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	"github.com/slipway-dev/slipway/test/clitest"
)

// takers are the commands that take names of objects of a kind, with their arguments.
func takers() map[string]*cli.Argument {
	all := map[string]*cli.Argument{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if a := cli.ArgumentOf(cmd.Use); a != nil {
			all[strings.TrimPrefix(cmd.CommandPath(), "virtctl ")] = a
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(root.NewCommand("virtctl", cli.NewFactory(genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{})))
	return all
}

func TestArguments_AcceptVMsInTheFormsOfKubectl(t *testing.T) {
	// What a command takes besides.
	more := map[string][]string{"publish": {"--library=golden"}, "snapshot revert": {"before"}, "screenshot": {"-o", "-"}}
	found := 0
	for command, a := range takers() {
		if a.Word != "VM" {
			continue
		}
		found++
		for _, form := range []string{"web", "vm/web", "vm web", "VirtualMachine/web", "virtualmachine.vm.slipway.dev/web", "virtualmachines web"} {
			s := clitest.WithEvents()
			args := slices.Concat(strings.Fields(command), strings.Fields(form), more[command])
			_, out, errOut := run(t, s, args...)
			told := out + errOut + strings.Join(s.Requests, "\n")
			if !strings.Contains(told, "dev/web") && !strings.Contains(told, `"web"`) && !strings.Contains(told, "/web/") || strings.Contains(errOut, "want NAME") {
				t.Errorf("virtctl %s does not mention dev/web:\n%s", strings.Join(args, " "), told)
			}
			if strings.Contains(told, "dev/vm") || strings.Contains(told, "/virtualmachines/vm") {
				t.Errorf("virtctl %s takes the kind for a name:\n%s", strings.Join(args, " "), told)
			}
		}
	}
	if takers()["recover"] == nil {
		t.Error("virtctl recover takes no kind before the name of a virtual machine")
	}
	if found < 15 {
		t.Errorf("%d commands take virtual machines: %s", found, slices.Sorted(maps.Keys(takers())))
	}
}

func TestArguments_RemoveOnlyKindsFromNames(t *testing.T) {
	one := func(names []string) error {
		if len(names) != 1 {
			return errors.New("one is wanted")
		}
		return nil
	}
	two := func(names []string) error {
		if len(names) != 2 {
			return errors.New("two are wanted")
		}
		return nil
	}
	some := func([]string) error { return nil }
	for name, c := range map[string]struct {
		use     string
		allowed func([]string) error
		args    string
		want    string
	}{
		"one that is called vm":          {"describe VM", one, "vm", "vm"},
		"one that is called so, by kind": {"describe VM", one, "vm/vm", "vm"},
		"one called vm and a snapshot":   {"revert VM SNAPSHOT", two, "vm before", "vm before"},
		"a snapshot is left as it is":    {"revert VM SNAPSHOT", two, "vm/web a/b", "web a/b"},
		"several":                        {"start VM|group/NAME...", some, "vm a b vm/c", "a b c"},
		"groups":                         {"start VM|group/NAME...", some, "web group/shop vmgroup/shop virtualmachinegroup.vm.slipway.dev/shop", "web group/shop group/shop group/shop"},
		"groups after their kind":        {"start VM|group/NAME...", some, "group shop db", "group/shop group/db"},
		"with a user":                    {"ssh [USER@]VM [-- COMMAND...]", one, "admin@vm/web", "admin@web"},
		"snapshots":                      {"delete SNAPSHOT...", some, "vmsnap/a b", "a b"},
		"machines":                       {"drain-plan MACHINE --workload-kubeconfig FILE", one, "machine.cluster.slipway.dev/node-1", "node-1"},
		"nothing":                        {"events [VM]", some, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cli.ArgumentOf(c.use).Plain(strings.Fields(c.args), c.allowed)
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestArguments_RejectInvalidNamesWithTheAllowedForms(t *testing.T) {
	for want, args := range map[string][]string{
		`"pod/web" is not a valid VM: use NAME, vm/NAME or vm NAME, and -n NAMESPACE`: {"describe", "pod/web"},
		`"dev/web" is not a valid VM`:    {"stop", "dev/web"},
		`"vm/dev/web" is not a valid VM`: {"console", "vm/dev/web"},
		`"vm/" is not a valid VM`:        {"events", "vm/"},
		`"group/shop" is a group, which this command does not accept: specify its virtual machines; kubectl get vmgroup shop -o wide shows what the group is waiting for`: {"top", "vm", "group/shop"},
		`"vm.example.com/a" is not a valid VM`: {"describe", "vm.example.com/a"},
		"accepts 1 arg(s), received 2; usage: virtctl describe VM, where VM is NAME, vm/NAME or vm NAME":                                  {"describe", "web", "db"},
		"accepts 1 arg(s), received 0; usage: virtctl drain-plan MACHINE --workload-kubeconfig FILE, where MACHINE is NAME, machine/NAME": {"drain-plan"},
	} {
		code, out, errOut := run(t, &clitest.APIServer{}, args...)
		if code != 1 || out != "" || !strings.Contains(strings.ReplaceAll(errOut, " [flags]", ""), want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q; want %q in one line", args, code, errOut, want)
		}
	}
}

func TestArguments_CompleteNamesAfterTheirKind(t *testing.T) {
	a := cli.ArgumentOf("describe VM")
	complete := a.Completing(func(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		return []string{strings.Join(args, "+") + start + "eb"}, cobra.ShellCompDirectiveNoFileComp
	})
	for want, c := range map[string]struct {
		args  []string
		start string
	}{"web": {nil, "w"}, "vm/web": {nil, "vm/w"}, "wweb": {[]string{"vm", "w"}, "w"}, "pod/web": {nil, "pod/w"}} {
		if got, _ := complete(nil, c.args, c.start); len(got) != 1 || got[0] != want {
			t.Errorf("%q after %q is completed to %q, want %q", c.start, c.args, got, want)
		}
	}
}
