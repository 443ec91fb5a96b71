// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
)

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	output := cli.OutputTable
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "List vSphere VMs without an object, and copies of VMs",
		Long: "List vSphere VMs whose VirtualMachine does not exist, for example because it was deleted with the option\n" +
			"to keep the VM, and copies: VMs with the identity of a VirtualMachine that has another VM. VMs of another Slipway\n" +
			"installation in the same folder are listed as well. Nothing is changed: delete a VM in vCenter, or recreate\n" +
			"its object with recover (docs/how-to/operate/recover-a-lost-store.md). If an object's STATUS is CopyFound, confirm the copy with adopt --copies.\nWith several vCenters, the replica that responds may not manage all of them; then the command fails with the names of the others.\n" +
			"Requires permission to list orphans in vm.slipway.dev.",
		Example: fmt.Sprintf("  %[1]s orphans\n  %[1]s orphans -o json", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.ValidateOutput(output, cli.OutputTable, cli.OutputYAML, cli.OutputJSON, cli.OutputName); err != nil {
				return err
			}
			client, _, err := f.Client()
			if err != nil {
				return err
			}
			report, err := cli.ReadOrphans(cmd.Context(), client)
			if err != nil {
				return err
			}
			if output == cli.OutputName {
				for _, o := range report.Orphans {
					if err := cli.PrintName(f.Streams.Out, cli.MachineKind, o.Name); err != nil {
						return err
					}
				}
				return cli.Uncovered(report)
			}
			if output != cli.OutputTable {
				return cli.PrintObject(f.Streams.Out, output, report)
			}
			if err := printOrphans(f.Streams.Out, report); err != nil {
				return err
			}
			return cli.Uncovered(report)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "Output format: table, yaml, json or name")
	cli.CompleteFixed(cmd, "output", cli.OutputTable, cli.OutputYAML, cli.OutputJSON, cli.OutputName)
	return cmd
}

func printOrphans(out io.Writer, report *orphans.Report) error {
	if len(report.Orphans) == 0 {
		_, err := fmt.Fprintf(out, "vCenter %s has no orphans.\n", cli.Printable(report.VCenter))
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	cli.Row(w, "NAMESPACE", "NAME", "UID", "VCENTER", "VM", "COPY OF", "VM NAME")
	for _, o := range report.Orphans {
		cli.Row(w, o.Namespace, o.Name, o.UID, cmp.Or(o.VCenter, report.VCenter), o.UniqueID, cmp.Or(o.CopyOf, "-"), o.VSphereName)
	}
	return w.Flush()
}
