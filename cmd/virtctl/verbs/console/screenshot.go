// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
)

// NewScreenshotCommand returns the command.
func NewScreenshotCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var file string
	cmd := &cobra.Command{
		Use:     "screenshot VM -o FILE",
		Short:   "Take a screenshot of a running virtual machine",
		Long:    "Take a screenshot of the console of a running virtual machine and write it to a PNG file.",
		Example: fmt.Sprintf("  %[1]s screenshot web -o web.png\n  %[1]s screenshot web -o - | display", f.Program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return errors.New("--output is required: the file to write, or - for standard output")
			}
			return f.screenshot(cmd.Context(), args[0], file)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "File to write or overwrite; - for standard output")
	return cmd
}

func (f command) screenshot(ctx context.Context, name, file string) error {
	out := f.PlainOut()
	if file == cli.StandardOutput && cli.IsTerminal(out) {
		return errors.New("--output -: standard output is a terminal, which cannot show a PNG image")
	}
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	data, err := client.VmV1alpha1().VirtualMachines(namespace).Screenshot(ctx, name)
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, cli.Reason(err))
	}
	if file == cli.StandardOutput {
		_, err = out.Write(data)
		return err
	}
	// The file is readable only by the user.
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("writing the screenshot: %w", err)
	}
	fmt.Fprintf(f.Streams.ErrOut, "%s: %s\n", file, cli.Amount(int64(len(data))))
	return nil
}
