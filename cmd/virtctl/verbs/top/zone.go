// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func newTopZoneCommand(f command) *cobra.Command {
	sortBy := "name"
	var output cli.Listing
	known := func() []string { return slices.Sorted(maps.Keys(zoneOrders)) }
	cmd := &cobra.Command{
		Use: "zone [ZONE...]", Aliases: []string{"zones"},
		Short: "Show capacity and use of zones",
		Long: "Show the capacity of the hosts and datastores of zones and its total use according to vSphere, and the use by\n" +
			"Slipway's virtual machines: vCPUs and memory of those that are powered on, and the maximum space that all\n" +
			"can use. The second part requires permission to list virtual machines in all namespaces.",
		Example:           fmt.Sprintf("  %[1]s top zone\n  %[1]s top zone --sort-by memory", f.Program),
		ValidArgsFunction: f.completeZones,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, ok := zoneOrders[sortBy]; !ok {
				return fmt.Errorf("--sort-by %q is not supported: use one of %s", sortBy, strings.Join(known(), ", "))
			}
			return f.topZones(cmd.Context(), args, sortBy, output)
		},
	}
	cmd.Flags().StringVar(&sortBy, "sort-by", sortBy, "Sort key; percentage in use descending, names ascending: "+strings.Join(known(), ", "))
	output.AddFlag(cmd)
	cli.CompleteFixed(cmd, "sort-by", known()...)
	return cmd
}

// zoneOrders maps sort keys to the part in use; nil sorts by name.
var zoneOrders = map[string]func(*vmv1alpha1.ZoneResources) *resource.Quantity{"name": nil, "cpu": zoneCPU, "memory": zoneMemory, "storage": zoneStorage}

func zoneCPU(r *vmv1alpha1.ZoneResources) *resource.Quantity     { return r.CPU }
func zoneMemory(r *vmv1alpha1.ZoneResources) *resource.Quantity  { return r.Memory }
func zoneStorage(r *vmv1alpha1.ZoneResources) *resource.Quantity { return r.Storage }

func (f command) topZones(ctx context.Context, names []string, sortBy string, output cli.Listing) error {
	client, _, err := f.Client()
	if err != nil {
		return err
	}
	list, err := client.VmV1alpha1().Zones().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing zones: %s", cli.Reason(err))
	}
	for _, name := range names {
		if !slices.ContainsFunc(list.Items, func(z vmv1alpha1.Zone) bool { return z.Name == name }) {
			return fmt.Errorf("zone %s: not found", name)
		}
	}
	zones := slices.DeleteFunc(list.Items, func(z vmv1alpha1.Zone) bool { return len(names) > 0 && !slices.Contains(names, z.Name) })
	if len(zones) == 0 && output.Table() {
		fmt.Fprintln(f.Streams.ErrOut, "No zones.")
		return nil
	}
	taken := map[string]*taking{}
	err = eachMachine(ctx, client, metav1.NamespaceAll, "", func(vm *vmv1alpha1.VirtualMachine) {
		t := takenBy(vm, nil)
		if taken[t.zone] == nil {
			taken[t.zone] = &taking{}
		}
		if t.power != vmv1alpha1.PoweredOn {
			t.vcpus, t.memory = 0, 0
		}
		taken[t.zone].add(&t)
	})
	switch {
	case apierrors.IsForbidden(err):
		taken = nil
	case err != nil:
		return fmt.Errorf("listing virtual machines: %s", cli.Reason(err))
	}
	slices.SortFunc(zones, func(a, b vmv1alpha1.Zone) int {
		order := cmp.Compare(a.Name, b.Name)
		if of := zoneOrders[sortBy]; of != nil {
			order = cmp.Or(cmp.Compare(share(&b.Status, of), share(&a.Status, of)), order)
		}
		return order
	})
	if !output.Table() {
		return output.Print(f.Streams.Out, zoneEntries(zones, taken))
	}
	return printZones(f.Streams.Out, zones, taken)
}

// printZones prints zones, and the use by virtual machines unless it is nil.
func printZones(out io.Writer, zones []vmv1alpha1.Zone, taken map[string]*taking) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	header := []string{"NAME", "VCENTER", "READY", "HOSTS", "CPU IN USE", "MEMORY IN USE", "STORAGE IN USE", "VMS"}
	if taken != nil {
		header = append(header, "VCPUS", "VM MEMORY", "VM STORAGE")
	}
	cli.Row(w, header...)
	for i := range zones {
		z, s := &zones[i], &zones[i].Status
		cells := []string{
			z.Name, z.VCenterName(), cli.Dash(conditions.ColumnValue(s.Conditions, vmv1alpha1.ConditionDeleting, vmv1alpha1.ConditionReady)), fmt.Sprint(s.Hosts),
			inUse(s, zoneCPU, gigahertz), inUse(s, zoneMemory, cli.Amount), inUse(s, zoneStorage, cli.Amount), fmt.Sprint(s.VirtualMachines),
		}
		if taken != nil {
			t := taken[z.Name]
			if t == nil {
				t = &taking{}
			}
			cells = append(cells, fmt.Sprint(t.vcpus), cli.Amount(t.memory), cli.Amount(t.provisioned))
		}
		cli.Row(w, cells...)
	}
	return w.Flush()
}

// share returns the part of a capacity that is in use, or -1 if unknown.
func share(s *vmv1alpha1.ZoneStatus, of func(*vmv1alpha1.ZoneResources) *resource.Quantity) float64 {
	if s.Capacity == nil || s.Free == nil {
		return -1
	}
	capacity, free := of(s.Capacity), of(s.Free)
	if capacity == nil || free == nil || capacity.Sign() <= 0 {
		return -1
	}
	return 1 - free.AsApproximateFloat64()/capacity.AsApproximateFloat64()
}

// inUse formats the used amount of a capacity with its percentage.
func inUse(s *vmv1alpha1.ZoneStatus, of func(*vmv1alpha1.ZoneResources) *resource.Quantity, text func(int64) string) string {
	part := share(s, of)
	if part < 0 {
		return "-"
	}
	capacity := of(s.Capacity).Value()
	return fmt.Sprintf("%s of %s (%.0f%%)", text(max(capacity-of(s.Free).Value(), 0)), text(capacity), 100*part)
}

func gigahertz(hertz int64) string { return fmt.Sprintf("%.1f GHz", float64(hertz)/1e9) }

// completeZones completes names of zones.
func (f command) completeZones(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	client, _, err := f.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompletionTimeout)
	defer cancel()
	list, err := client.VmV1alpha1().Zones().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Items {
		if !slices.Contains(args, list.Items[i].Name) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
