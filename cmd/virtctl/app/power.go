// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// powerCall is the client method of one power verb.
type powerCall func(vmclient.VirtualMachineInterface, context.Context, string, *vmv1alpha1.PowerOptions, metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)

// powerVerb describes start, stop, restart or suspend.
type powerVerb struct {
	name, short, done string
	modes             bool
	// needsSize is true for verbs that end in a power on, which needs the size.
	needsSize bool
	call      powerCall
}

var powerVerbs = []powerVerb{
	{"start", "Power virtual machines on", "will be powered on", false, true, vmclient.VirtualMachineInterface.Start},
	{"stop", "Power virtual machines off", "will be powered off", true, false, vmclient.VirtualMachineInterface.Stop},
	{"restart", "Restart virtual machines", "will be restarted", true, true, vmclient.VirtualMachineInterface.Restart},
	{"suspend", "Suspend virtual machines", "will be suspended", true, false, vmclient.VirtualMachineInterface.Suspend},
}

func newPowerCommands(f *Factory) []*cobra.Command {
	cmds := make([]*cobra.Command, 0, len(powerVerbs))
	for _, v := range powerVerbs {
		cmds = append(cmds, newPowerCommand(f, v))
	}
	return cmds
}

func newPowerCommand(f *Factory, v powerVerb) *cobra.Command {
	var sel selection
	var dry dryRun
	var mode string
	var waits powerWait
	use, example := v.name+" VM...", fmt.Sprintf("  %[1]s %[2]s web-1 web-2\n  %[1]s %[2]s web-1 --wait --timeout 5m\n  %[1]s %[2]s -l app=web --dry-run", f.program, v.name)
	if _, ok := groupStates[v.name]; ok {
		use, example = v.name+" VM|group/NAME...", example+fmt.Sprintf("\n  %s %s group/shop", f.program, v.name)
	}
	cmd := &cobra.Command{
		Use:               use,
		Short:             v.short,
		Example:           example,
		ValidArgsFunction: f.completeVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel.names = args
			if err := sel.validate(); err != nil {
				return err
			}
			if err := waits.validate(dry); err != nil {
				return err
			}
			asked, err := f.powerGroups(cmd.Context(), v, takeGroups(&sel), mode, dry, waits.ready)
			if err != nil && !errors.Is(err, errReported) {
				return err
			}
			if len(sel.names) > 0 || sel.selector != "" {
				machines, failed := f.power(cmd.Context(), v, &sel, mode, dry, waits.ready)
				asked, err = append(asked, machines...), cmp.Or(failed, err)
			}
			if !waits.on {
				return err
			}
			// Who could not be asked is told already; the others are waited for.
			return errors.Join(f.await(cmd.Context(), asked, &waits), err)
		},
	}
	sel.addFlags(cmd)
	dry.addFlag(cmd, "server (what it means without a value): let the server check, and change nothing; or none")
	waits.addFlags(cmd, v)
	if v.modes {
		cmd.Flags().StringVar(&mode, "mode", "", "How: Hard, Soft (ask the guest) or TrySoft; the virtual machine's own setting when not given")
		completeFixed(cmd, "mode", string(vmv1alpha1.PowerOpModeHard), string(vmv1alpha1.PowerOpModeSoft), string(vmv1alpha1.PowerOpModeTrySoft))
	}
	return cmd
}

// power asks virtual machines, and returns those that could be asked.
func (f *Factory) power(ctx context.Context, v powerVerb, sel *selection, mode string, dry dryRun, ready bool) ([]*awaited, error) {
	client, namespace, err := f.client()
	if err != nil {
		return nil, err
	}
	targets, err := sel.resolve(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		fmt.Fprintf(f.streams.ErrOut, "No virtual machine matches selector %q.\n", sel.selector)
		return nil, nil
	}
	opts := &vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpMode(mode), DryRun: dry.options()}
	create := metav1.CreateOptions{DryRun: dry.options()}
	suffix := ""
	if dry.on() {
		suffix = " (dry run)"
	}
	var asked []*awaited
	err = f.each(targets, client, func(c vmclient.VirtualMachineInterface, t target) error {
		vm, err := v.call(c, ctx, t.name, opts.DeepCopy(), create)
		if err != nil {
			return err
		}
		fmt.Fprintf(f.streams.Out, "virtualmachine %s/%s %s%s\n", t.namespace, t.name, v.done, suffix)
		if why := unsynchronized(vm); v.needsSize && why != "" {
			fmt.Fprintf(f.streams.ErrOut, "warning: virtualmachine %s/%s cannot be powered on as long as this lasts%s\n", t.namespace, t.name, why)
		}
		asked = append(asked, awaitMachine(c, vm, t, ready))
		return nil
	})
	return asked, err
}
