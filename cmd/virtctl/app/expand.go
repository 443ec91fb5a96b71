// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func newExpandCommand(f *Factory) *cobra.Command {
	var output, generation string
	cmd := &cobra.Command{
		Use:   "expand VM",
		Short: "Print a virtual machine with its instance type and preference expanded",
		Long: "Print a virtual machine with its instance type and preference expanded into its spec.\n" +
			"Nothing is changed on the server.",
		Example: fmt.Sprintf("  %[1]s expand web-1\n  %[1]s expand web-1 --generation latest -o json", f.program),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("expand takes the name of one virtual machine, got %d names", len(args))
			}
			return nil
		},
		ValidArgsFunction: f.completeVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := validateOutput(output, outputYAML, outputJSON); err != nil {
				return err
			}
			client, namespace, err := f.client()
			if err != nil {
				return err
			}
			vm, err := client.VmV1alpha1().VirtualMachines(namespace).ExpandSpec(cmd.Context(), args[0], vmv1alpha1.ExpandOptions{Generation: generation})
			if err != nil {
				return fmt.Errorf("expanding virtualmachine %s/%s: %w", namespace, args[0], err)
			}
			vm.SetGroupVersionKind(vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"))
			vm.ManagedFields = nil
			return printObject(f.streams.Out, output, vm)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", outputYAML, "Output format: yaml or json")
	cmd.Flags().StringVar(&generation, "generation", "", "stored (the revision in use) or latest (the live objects); stored when not given")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputYAML, outputJSON}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("generation", cobra.FixedCompletions([]string{"stored", "latest"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
