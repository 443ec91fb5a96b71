// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// madeByVirtctl is the value of LabelSnapshotMadeBy.
	madeByVirtctl = "virtctl"
	// defaultSnapshotTimeout is enough for the memory of a large virtual machine.
	defaultSnapshotTimeout = 10 * time.Minute
	// defaultQuiesce is --quiesce without a value: vSphere's default time.
	defaultQuiesce = "default"
)

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Create, list, delete and revert to snapshots of virtual machines",
		Args:  cobra.NoArgs,
		RunE:  cli.HelpFor,
	}
	cmd.AddCommand(newSnapshotCreateCommand(f), newSnapshotListCommand(f), newSnapshotRevertCommand(f), newSnapshotDeleteCommand(f))
	return cmd
}

// snapshotFlags are the flags of snapshot create.
type snapshotFlags struct {
	name, description, quiesce string
	memory, wait               bool
	keep                       int
	timeout                    time.Duration
}

func newSnapshotCreateCommand(f command) *cobra.Command {
	var flags snapshotFlags
	cmd := &cobra.Command{
		Use:   "create VM [NAME]",
		Short: "Take a snapshot of a virtual machine",
		Long: "Take a snapshot of a virtual machine.\n\n" +
			"With --keep N, wait until the snapshot is ready, and then delete the oldest snapshots that virtctl has created\n" +
			"for the virtual machine, except the newest N. Other snapshots are kept, and none is deleted if the new one fails.",
		Example: fmt.Sprintf("  %[1]s snapshot create web before-upgrade --memory --wait\n  %[1]s snapshot create web --quiesce --keep 7", f.Program),
		Args:    cobra.RangeArgs(1, 2), ValidArgsFunction: f.CompleteOneVM,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				flags.name = args[1]
			}
			if cmd.Flags().Changed("keep") && flags.keep < 1 {
				return fmt.Errorf("--keep %d: must be at least 1", flags.keep)
			}
			snapshot, err := flags.snapshot(args[0])
			if err != nil {
				return err
			}
			return f.createSnapshot(cmd.Context(), snapshot, &flags)
		},
	}
	cmd.Flags().BoolVar(&flags.memory, "memory", false, "Include the memory of a running virtual machine, so that a revert resumes it")
	cmd.Flags().StringVar(&flags.quiesce, "quiesce", "", "Quiesce the guest with VMware Tools first; an optional duration from 5m to 4h limits the time")
	cmd.Flags().Lookup("quiesce").NoOptDefVal = defaultQuiesce
	cmd.Flags().StringVar(&flags.description, "description", "", "Description of the snapshot")
	cmd.Flags().IntVar(&flags.keep, "keep", 0, "Number of snapshots created by virtctl to keep for the virtual machine (default: all)")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "Wait until the snapshot is ready")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultSnapshotTimeout, "Timeout of --wait and --keep")
	return cmd
}

// snapshot returns the object to create.
func (flags *snapshotFlags) snapshot(vm string) (*vmv1alpha1.VirtualMachineSnapshot, error) {
	s := &vmv1alpha1.VirtualMachineSnapshot{
		ObjectMeta: metav1.ObjectMeta{Name: flags.name, Labels: map[string]string{vmv1alpha1.LabelSnapshotCreatedBy: madeByVirtctl}},
		Spec:       vmv1alpha1.VirtualMachineSnapshotSpec{VMName: vm, Memory: flags.memory, Description: flags.description},
	}
	if flags.name == "" {
		s.GenerateName = vm + "-"
	}
	if flags.quiesce == "" {
		return s, nil
	}
	s.Spec.Quiesce = &vmv1alpha1.VirtualMachineSnapshotQuiesce{}
	if flags.quiesce != defaultQuiesce {
		d, err := time.ParseDuration(flags.quiesce)
		if err != nil || d < 5*time.Minute || d > 4*time.Hour {
			return nil, fmt.Errorf("--quiesce %q: must be a duration from 5m to 4h", flags.quiesce)
		}
		s.Spec.Quiesce.TimeoutSeconds = int32(d / time.Second)
	}
	return s, nil
}

func (f command) createSnapshot(ctx context.Context, snapshot *vmv1alpha1.VirtualMachineSnapshot, flags *snapshotFlags) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	snapshots := client.VmV1alpha1().VirtualMachineSnapshots(namespace)
	made, err := snapshots.Create(ctx, snapshot, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, snapshot.Spec.VMName, cli.Reason(err))
	}
	fmt.Fprintf(f.Streams.Out, "virtualmachinesnapshot %s/%s created\n", namespace, made.Name)
	if !flags.wait && flags.keep == 0 {
		return nil
	}
	what := fmt.Sprintf("virtualmachinesnapshot %s/%s", namespace, made.Name)
	err = f.AwaitState(ctx, flags.timeout, what+" is not ready", func(ctx context.Context) (bool, string, error) {
		got, err := snapshots.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		c := conditions.Find(got.Status.Conditions, vmv1alpha1.ConditionReady)
		if c == nil {
			return false, what + ": waiting for the server", nil
		}
		return c.Status == metav1.ConditionTrue, what + ": " + cmp.Or(c.Message, c.Reason), nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Streams.Out, "virtualmachinesnapshot %s/%s ready\n", namespace, made.Name)
	if flags.keep == 0 {
		return nil
	}
	all, err := snapshots.List(ctx, metav1.ListOptions{FieldSelector: "spec.vmName=" + snapshot.Spec.VMName, LabelSelector: vmv1alpha1.LabelSnapshotCreatedBy + "=" + madeByVirtctl})
	if err != nil {
		return fmt.Errorf("listing the snapshots of %s/%s: %s", namespace, snapshot.Spec.VMName, cli.Reason(err))
	}
	for _, old := range superfluous(all.Items, flags.keep) {
		if err := snapshots.Delete(ctx, old.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &old.UID}}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("virtualmachinesnapshot %s/%s: %s", namespace, old.Name, cli.Reason(err))
		}
		fmt.Fprintf(f.Streams.Out, "virtualmachinesnapshot %s/%s deleted\n", namespace, old.Name)
	}
	return nil
}

// superfluous returns the oldest ready snapshots, except the newest keep. Snapshots that are not ready do not count,
// because they may never become ready.
func superfluous(all []vmv1alpha1.VirtualMachineSnapshot, keep int) []vmv1alpha1.VirtualMachineSnapshot {
	ready := slices.DeleteFunc(slices.Clone(all), func(s vmv1alpha1.VirtualMachineSnapshot) bool {
		return s.DeletionTimestamp != nil || !conditions.IsTrue(s.Status.Conditions, vmv1alpha1.ConditionReady)
	})
	slices.SortFunc(ready, func(a, b vmv1alpha1.VirtualMachineSnapshot) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return ready[:max(len(ready)-keep, 0)]
}

func newSnapshotRevertCommand(f command) *cobra.Command {
	var waits bool
	timeout := defaultSnapshotTimeout
	cmd := &cobra.Command{
		Use:   "revert VM SNAPSHOT",
		Short: "Revert a virtual machine and its object to a snapshot",
		Long: "Revert a virtual machine and its object to a snapshot.\n\n" +
			"Later changes of the guest's disks are lost. Labels, annotations and spec of the object are restored, including the\n" +
			"size. The virtual machine is running afterwards only if the snapshot includes its memory. The request remains if --wait\n" +
			"times out; to cancel it, set spec.currentSnapshotName to null with kubectl patch.",
		Example: fmt.Sprintf("  %[1]s snapshot revert web before-upgrade --wait", f.Program),
		Args:    cobra.ExactArgs(2), ValidArgsFunction: f.CompleteOneVM,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			vms := client.VmV1alpha1().VirtualMachines(namespace)
			patch := fmt.Appendf(nil, `{"spec":{"currentSnapshotName":%q}}`, args[1])
			if _, err := vms.Patch(cmd.Context(), args[0], types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return fmt.Errorf("virtualmachine %s/%s: %s", namespace, args[0], cli.Reason(err))
			}
			fmt.Fprintf(f.Streams.Out, "virtualmachine %s/%s will be reverted to %s\n", namespace, args[0], args[1])
			if !waits {
				return nil
			}
			err = f.AwaitState(cmd.Context(), timeout, "virtualmachine "+args[0]+" is not reverted", func(ctx context.Context) (bool, string, error) {
				got, err := vms.Get(ctx, args[0], metav1.GetOptions{})
				if err != nil {
					return false, "", err
				}
				c := conditions.Find(got.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced)
				if c == nil {
					return false, "waiting for the server", nil
				}
				if got.Spec.CurrentSnapshotName == "" && c.Status == metav1.ConditionTrue {
					return true, "", nil
				}
				if c.Status == metav1.ConditionTrue { // of the previous revert
					return false, "waiting for the server", nil
				}
				return false, cmp.Or(c.Message, c.Reason), nil
			})
			if err == nil {
				fmt.Fprintf(f.Streams.Out, "virtualmachine %s/%s reverted to %s\n", namespace, args[0], args[1])
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&waits, "wait", false, "Wait until the virtual machine and its object are reverted")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "Timeout of --wait")
	return cmd
}

func newSnapshotDeleteCommand(f command) *cobra.Command {
	var waits bool
	timeout := defaultSnapshotTimeout
	cmd := &cobra.Command{
		Use:     "delete SNAPSHOT...",
		Short:   "Delete snapshots; later snapshots are kept",
		Example: fmt.Sprintf("  %[1]s snapshot delete web-before-upgrade --wait", f.Program),
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			snapshots := client.VmV1alpha1().VirtualMachineSnapshots(namespace)
			var errs []error
			for _, name := range args {
				if err := snapshots.Delete(cmd.Context(), name, metav1.DeleteOptions{}); err != nil {
					errs = append(errs, fmt.Errorf("virtualmachinesnapshot %s/%s: %s", namespace, name, cli.Reason(err)))
					continue
				}
				fmt.Fprintf(f.Streams.Out, "virtualmachinesnapshot %s/%s will be deleted\n", namespace, name)
			}
			for _, name := range args {
				if !waits || len(errs) > 0 {
					break
				}
				what := fmt.Sprintf("virtualmachinesnapshot %s/%s", namespace, name)
				err := f.AwaitState(cmd.Context(), timeout, what+" is not deleted", func(ctx context.Context) (bool, string, error) {
					got, err := snapshots.Get(ctx, name, metav1.GetOptions{})
					if apierrors.IsNotFound(err) {
						return true, "", nil
					}
					if err != nil {
						return false, "", err
					}
					state := what + " is being deleted"
					if c := conditions.Find(got.Status.Conditions, vmv1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue && c.Message != "" {
						state += ": " + c.Message
					}
					return false, state, nil
				})
				if err == nil {
					fmt.Fprintf(f.Streams.Out, "virtualmachinesnapshot %s/%s is deleted\n", namespace, name)
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().BoolVar(&waits, "wait", false, "Wait until the snapshots are deleted in vSphere")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "Timeout of --wait")
	return cmd
}
