// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func newSnapshotListCommand(f command) *cobra.Command {
	var output cli.Listing
	cmd := &cobra.Command{
		Use:     "list [VM]",
		Short:   "List the snapshots of a namespace, or all vSphere snapshots of a virtual machine",
		Example: fmt.Sprintf("  %[1]s snapshot list\n  %[1]s snapshot list web", f.Program),
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: f.CompleteOneVM,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return f.listSnapshots(cmd.Context(), output)
			}
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(cmd.Context(), args[0], metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("virtualmachine %s/%s: %s", namespace, args[0], cli.Reason(err))
			}
			if !output.Table() {
				return output.Print(f.Streams.Out, nodes(vm))
			}
			return printTree(f.Streams.Out, vm)
		},
	}
	output.AddFlag(cmd)
	return cmd
}

// nodes returns the vSphere snapshots of a virtual machine. For -o name, only those with an object are listed.
func nodes(vm *vmv1alpha1.VirtualMachine) []cli.Entry {
	var all []cli.Entry
	for _, n := range vm.Status.Snapshots {
		all = append(all, cli.Entry{Kind: snapshotKind.GroupKind(), Name: n.SnapshotName, Object: n})
	}
	return all
}

var snapshotKind = vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachineSnapshot")

func (f command) listSnapshots(ctx context.Context, output cli.Listing) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	all, err := client.VmV1alpha1().VirtualMachineSnapshots(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the snapshots of namespace %s: %s", namespace, cli.Reason(err))
	}
	if !output.Table() {
		var entries []cli.Entry
		for i := range all.Items {
			entries = append(entries, cli.EntryOf(&all.Items[i], all.Items[i].Name, snapshotKind))
		}
		return output.Print(f.Streams.Out, entries)
	}
	w := tabwriter.NewWriter(f.Streams.Out, 0, 0, 3, ' ', 0)
	cli.Row(w, "NAME", "VM", "READY", "POWER", "OCCUPIED", "TAKEN")
	for i := range all.Items {
		s := &all.Items[i]
		cli.Row(w, s.Name, s.Spec.VMName, conditions.ColumnValue(s.Status.Conditions, vmv1alpha1.ConditionReady), string(s.Status.PowerState), cli.AmountOf(s.Status.Occupied), cli.At(s.Status.CreationTime))
	}
	return w.Flush()
}

// printTree shows all vSphere snapshots of a virtual machine. Children follow their parents.
func printTree(out io.Writer, vm *vmv1alpha1.VirtualMachine) error {
	if len(vm.Status.Snapshots) == 0 {
		_, err := fmt.Fprintf(out, "virtualmachine %s/%s has no snapshots\n", vm.Namespace, vm.Name)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	cli.Row(w, "NAME", "SNAPSHOT", "POWER", "OCCUPIED", "TAKEN", "ID")
	depth := map[string]int{}
	for _, n := range vm.Status.Snapshots {
		if n.Parent != "" {
			depth[n.UniqueID] = depth[n.Parent] + 1
		}
		object := n.SnapshotName
		if object == "" {
			object = "<no object>"
		}
		cli.Row(w, strings.Repeat("  ", depth[n.UniqueID])+n.Name, object, string(n.PowerState), cli.AmountOf(n.Occupied), cli.At(n.CreationTime), n.UniqueID)
	}
	return w.Flush()
}
