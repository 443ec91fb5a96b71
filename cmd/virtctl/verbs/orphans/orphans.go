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
		Short: "List the VMs of vSphere whose virtual machine does not exist, and copies of VMs",
		Long: "List the VMs of vSphere that belong to a virtual machine which does not exist, for example because its deletion was told\n" +
			"to leave the VM, and those that have the identity of a virtual machine which has another VM: copies. A VM of another Slipway\n" +
			"that uses the same folder is listed, too. Nothing is done to them: delete each in vCenter, or create\n" +
			"its virtual machine again with recover (docs/how-to/operate/recover-a-lost-store.md). A copy that is the VM of an object whose STATUS is CopyFound is confirmed with adopt --copies. With several vCenters the replica of the server that answers may not take care of all:\n" +
			"it ends with an error that names those of which nothing is known. It takes the right to list orphans in vm.slipway.dev.",
		Example: fmt.Sprintf("  %[1]s orphans\n  %[1]s orphans -o json", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.ValidateOutput(output, cli.OutputTable, cli.OutputYAML, cli.OutputJSON); err != nil {
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
			if output != cli.OutputTable {
				return cli.PrintObject(f.Streams.Out, output, report)
			}
			if err := printOrphans(f.Streams.Out, report); err != nil {
				return err
			}
			return cli.Uncovered(report)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "Output format: table, yaml or json")
	cli.CompleteFixed(cmd, "output", cli.OutputTable, cli.OutputYAML, cli.OutputJSON)
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
