// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func newScreenshotCommand(f *Factory) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "screenshot VM -o FILE",
		Short:   "Take a picture of the console of a virtual machine that runs",
		Long:    "Take a picture of the console of a virtual machine that runs, and write it to a file, a PNG.",
		Example: fmt.Sprintf("  %[1]s screenshot web -o web.png\n  %[1]s screenshot web -o - | display", f.program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: f.completeVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return errors.New("--output is required: the file to write, or - for standard output")
			}
			return f.screenshot(cmd.Context(), args[0], file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "File to write, which may exist; - for standard output")
	return cmd
}

func (f *Factory) screenshot(ctx context.Context, name, file string) error {
	out := f.plainOut()
	if file == standardOutput && isTerminal(out) {
		return errors.New("--output -: standard output is a terminal, which would show no picture")
	}
	client, namespace, err := f.client()
	if err != nil {
		return err
	}
	data, err := client.VmV1alpha1().VirtualMachines(namespace).Screenshot(ctx, name)
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, reason(err))
	}
	if file == standardOutput {
		_, err = out.Write(data)
		return err
	}
	// Others need not see it.
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	fmt.Fprintf(f.streams.ErrOut, "%s: %s\n", file, amount(int64(len(data))))
	return nil
}
