// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/refresh"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// powerCall is the client method of one power verb.
type powerCall func(vmclient.VirtualMachineInterface, context.Context, string, *vmv1alpha1.PowerOptions, metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)

// powerVerb describes start, stop, restart or suspend.
type powerVerb struct {
	name, short, done string
	modes             bool
	// needsSize is true for verbs that power on, which requires a size.
	needsSize bool
	call      powerCall
}

var powerVerbs = []powerVerb{
	{"start", "Power virtual machines on", "will be powered on", false, true, vmclient.VirtualMachineInterface.Start},
	{"stop", "Power virtual machines off", "will be powered off", true, false, vmclient.VirtualMachineInterface.Stop},
	{"restart", "Restart virtual machines", "will be restarted", true, true, vmclient.VirtualMachineInterface.Restart},
	{"suspend", "Suspend virtual machines", "will be suspended", true, false, vmclient.VirtualMachineInterface.Suspend},
}

// NewCommands returns the commands.
func NewCommands(factory *cli.Factory) []*cobra.Command {
	f := command{factory}
	cmds := make([]*cobra.Command, 0, len(powerVerbs))
	for _, v := range powerVerbs {
		cmds = append(cmds, newPowerCommand(f, v))
	}
	return cmds
}

func newPowerCommand(f command, v powerVerb) *cobra.Command {
	var sel cli.Selection
	var dry cli.DryRun
	var mode string
	var waits powerWait
	use, example := v.name+" VM...", fmt.Sprintf("  %[1]s %[2]s web-1 web-2\n  %[1]s %[2]s web-1 --wait --timeout 5m\n  %[1]s %[2]s -l app=web --dry-run", f.Program, v.name)
	if _, ok := groupStates[v.name]; ok {
		use, example = v.name+" VM|group/NAME...", example+fmt.Sprintf("\n  %s %s group/shop", f.Program, v.name)
	}
	cmd := &cobra.Command{
		Use:               use,
		Short:             v.short,
		Example:           example,
		ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel.Names = args
			if err := sel.Validate(); err != nil {
				return err
			}
			if err := waits.validate(dry); err != nil {
				return err
			}
			asked, err := f.powerGroups(cmd.Context(), v, takeGroups(&sel), mode, dry, waits.ready)
			if err != nil && !errors.Is(err, cli.ErrReported) {
				return err
			}
			if len(sel.Names) > 0 || sel.Selector != "" {
				machines, failed := f.power(cmd.Context(), v, &sel, mode, dry, waits.ready)
				asked, err = append(asked, machines...), cmp.Or(failed, err)
			}
			if !waits.on {
				return err
			}
			// failures are already reported; wait for the others
			return errors.Join(f.await(cmd.Context(), asked, &waits), err)
		},
	}
	sel.AddFlags(cmd)
	dry.AddFlag(cmd, "Validate without changing anything: server (default without a value) or none")
	waits.addFlags(cmd, v)
	if v.modes {
		cmd.Flags().StringVar(&mode, "mode", "", "Hard, Soft (through the guest) or TrySoft (default: the virtual machine's own setting)")
		cli.CompleteFixed(cmd, "mode", string(vmv1alpha1.PowerOpModeHard), string(vmv1alpha1.PowerOpModeSoft), string(vmv1alpha1.PowerOpModeTrySoft))
	}
	return cmd
}

// refusal returns why the configuration of vm, or an object that it refers to, is rejected, and the consequence. It
// is empty if the configuration is accepted.
func refusal(vm *vmv1alpha1.VirtualMachine) string {
	c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionConfigurationSynced)
	if c != nil && c.Reason == vmv1alpha1.ReasonWaitingForPrerequisites {
		c = meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionStalled)
	}
	if c == nil || c.Reason != vmv1alpha1.ReasonInvalid && c.Reason != vmv1alpha1.ReasonNotAllowed {
		return ""
	}
	if vm.Status.FirstStartTime == nil && vm.Status.PowerState == vmv1alpha1.PoweredOff {
		return "and it cannot be powered on for the first time until this is corrected: " + c.Message
	}
	return "and it keeps running with its current configuration: " + c.Message
}

// power requests the change of virtual machines and returns the successful ones.
func (f command) power(ctx context.Context, v powerVerb, sel *cli.Selection, mode string, dry cli.DryRun, ready bool) ([]*awaited, error) {
	client, namespace, err := f.Client()
	if err != nil {
		return nil, err
	}
	targets, err := sel.Resolve(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		fmt.Fprintf(f.Streams.ErrOut, "No virtual machines match selector %q.\n", sel.Selector)
		return nil, nil
	}
	opts := &vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpMode(mode), DryRun: dry.Options()}
	create := metav1.CreateOptions{DryRun: dry.Options()}
	suffix := ""
	if dry.On() {
		suffix = " (dry run)"
	}
	var asked []*awaited
	err = f.Each(targets, client, func(c vmclient.VirtualMachineInterface, t cli.Target) error {
		vm, err := v.call(c, ctx, t.Name, opts.DeepCopy(), create)
		if err != nil {
			return err
		}
		fmt.Fprintf(f.Streams.Out, "virtualmachine %s/%s %s%s\n", t.Namespace, t.Name, v.done, suffix)
		if why := refresh.Unsynchronized(vm); v.needsSize && why != "" {
			fmt.Fprintf(f.Streams.ErrOut, "warning: virtualmachine %s/%s cannot be powered on until this is resolved%s\n", t.Namespace, t.Name, why)
		}
		if why := refusal(vm); v.name != "stop" && why != "" {
			fmt.Fprintf(f.Streams.ErrOut, "warning: virtualmachine %s/%s: part of its configuration is rejected, %s\n", t.Namespace, t.Name, why)
		}
		asked = append(asked, awaitMachine(c, vm, t, ready))
		return nil
	})
	return asked, err
}
