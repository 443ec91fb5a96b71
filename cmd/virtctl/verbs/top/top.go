// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// machinePage is the page size of a list request.
const machinePage = 500

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show CPU, memory and storage of virtual machines and zones",
		Args:  cobra.NoArgs,
		RunE:  cli.HelpFor,
	}
	cmd.AddCommand(newTopVMCommand(f), newTopZoneCommand(f))
	return cmd
}

// topFlags are the flags of top vm.
type topFlags struct {
	names, metrics   []string
	selector, sortBy string
	allNamespaces    bool
	sum              bool
	output           cli.Listing
}

func newTopVMCommand(f command) *cobra.Command {
	flags := topFlags{sortBy: "name"}
	cmd := &cobra.Command{
		Use: "vm [VM...]", Aliases: []string{"vms", "virtualmachine", "virtualmachines"},
		Short: "Show CPU, memory and storage of virtual machines",
		Long: "Show the virtual CPUs and memory of virtual machines, the space that they use on datastores, and the\n" +
			"maximum space that they can use (PROVISIONED).\n\n" +
			"CPU and memory in use are metrics of a server with --vm-metrics=usage. --metrics reads files with the metrics of\n" +
			"each replica (- for standard input). /metrics requires a separate permission and is not reachable through\n" +
			"kube-apiserver; see docs/how-to/operate/monitoring.md.",
		Example:           fmt.Sprintf("  %[1]s top vm\n  %[1]s top vm -A --sort-by memory --sum\n  curl -s --cacert ca.crt -H \"Authorization: Bearer $TOKEN\" https://localhost:8443/metrics | %[1]s top vm -A --metrics - --sort-by cpu-used", f.Program),
		ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.names = args
			if err := flags.validate(); err != nil {
				return err
			}
			return f.topMachines(cmd.Context(), &flags)
		},
	}
	cmd.Flags().StringVarP(&flags.selector, "selector", "l", "", "Label selector, instead of names")
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "Include all namespaces")
	cmd.Flags().StringVar(&flags.sortBy, "sort-by", flags.sortBy, "Sort key; numbers descending, names ascending: "+strings.Join(orders(), ", "))
	cmd.Flags().StringSliceVar(&flags.metrics, "metrics", nil, "Files with metrics of the server")
	cmd.Flags().BoolVar(&flags.sum, "sum", false, "Add a line with the totals")
	flags.output.AddFlag(cmd)
	cli.CompleteFixed(cmd, "sort-by", orders()...)
	return cmd
}

// orders returns the values of --sort-by.
func orders() []string { return slices.Sorted(maps.Keys(machineOrders)) }

func (o *topFlags) validate() error {
	_, known := machineOrders[o.sortBy]
	switch {
	case !known:
		return fmt.Errorf("--sort-by %q is not supported: use one of %s", o.sortBy, strings.Join(orders(), ", "))
	case len(o.names) > 0 && o.selector != "":
		return fmt.Errorf("names and --selector are mutually exclusive: got %d name(s) and selector %q", len(o.names), o.selector)
	case len(o.names) > 0 && o.allNamespaces:
		return fmt.Errorf("--all-namespaces cannot be combined with names: got %d", len(o.names))
	case o.sum && !o.output.Table():
		return fmt.Errorf("--sum and --output are mutually exclusive")
	case len(o.metrics) == 0 && strings.HasSuffix(o.sortBy, usedSuffix):
		return fmt.Errorf("--sort-by %s requires --metrics", o.sortBy)
	}
	return nil
}

func (f command) topMachines(ctx context.Context, flags *topFlags) error {
	used, err := f.readUse(flags.metrics)
	if err != nil {
		return err
	}
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	if flags.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	var all []taking
	add := func(vm *vmv1alpha1.VirtualMachine) { all = append(all, takenBy(vm, used)) }
	for _, name := range flags.names {
		vm, err := client.VmV1alpha1().VirtualMachines(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, cli.Reason(err))
		}
		add(vm)
	}
	if len(flags.names) == 0 {
		if err := eachMachine(ctx, client, namespace, flags.selector, add); err != nil {
			return fmt.Errorf("listing virtual machines: %s", cli.Reason(err))
		}
	}
	sortTaking(all, flags.sortBy)
	if !flags.output.Table() {
		return flags.output.Print(f.Streams.Out, takingEntries(all))
	}
	if len(all) == 0 {
		fmt.Fprintln(f.Streams.ErrOut, "No virtual machines.")
		return nil
	}
	return printTaking(f.Streams.Out, all, flags.allNamespaces, len(flags.metrics) > 0, flags.sum)
}

// eachMachine reads the virtual machines of one namespace or of all, in pages.
func eachMachine(ctx context.Context, client versioned.Interface, namespace, selector string, do func(*vmv1alpha1.VirtualMachine)) error {
	options := metav1.ListOptions{LabelSelector: selector, Limit: machinePage}
	for {
		page, err := client.VmV1alpha1().VirtualMachines(namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			do(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}
