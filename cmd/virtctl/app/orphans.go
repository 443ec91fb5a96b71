// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
)

func newOrphansCommand(f *Factory) *cobra.Command {
	output := outputTable
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "List the VMs of vSphere whose virtual machine does not exist, and copies of VMs",
		Long: "List the VMs of vSphere that belong to a virtual machine which does not exist, for example because its deletion was told\n" +
			"to leave the VM, and those that have the identity of a virtual machine which has another VM: copies. A VM of another Slipway\n" +
			"that uses the same folder is listed, too. Nothing is done to them: delete each in vCenter, or take it over\n" +
			"(docs/operations.md). A copy that is the VM of an object whose STATUS is CopyFound is confirmed with adopt --copies. With several vCenters the replica of the server that answers may not take care of all:\n" +
			"it ends with an error that names those of which nothing is known. It takes the right to list orphans in vm.slipway.dev.",
		Example: fmt.Sprintf("  %[1]s orphans\n  %[1]s orphans -o json", f.program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateOutput(output, outputTable, outputYAML, outputJSON); err != nil {
				return err
			}
			client, _, err := f.client()
			if err != nil {
				return err
			}
			report, err := readOrphans(cmd.Context(), client)
			if err != nil {
				return err
			}
			if output != outputTable {
				return printObject(f.streams.Out, output, report)
			}
			if err := printOrphans(f.streams.Out, report); err != nil {
				return err
			}
			return uncovered(report)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "Output format: table, yaml or json")
	completeFixed(cmd, "output", outputTable, outputYAML, outputJSON)
	return cmd
}

func printOrphans(out io.Writer, report *orphans.Report) error {
	if len(report.Orphans) == 0 {
		_, err := fmt.Fprintf(out, "vCenter %s has no orphans.\n", printable(report.VCenter))
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row(w, "NAMESPACE", "NAME", "UID", "VCENTER", "VM", "COPY OF", "VM NAME")
	for _, o := range report.Orphans {
		row(w, o.Namespace, o.Name, o.UID, cmp.Or(o.VCenter, report.VCenter), o.UniqueID, cmp.Or(o.CopyOf, "-"), o.VSphereName)
	}
	return w.Flush()
}
