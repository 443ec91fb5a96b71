// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const outputText = "text"

func newConsoleCommand(f *Factory) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "console VM",
		Short: "Get a ticket for the console of a virtual machine that runs",
		Long: "Get a ticket for the console of a virtual machine that runs.\n\n" +
			"Prints the URL of a WebSocket at the ESXi host, with a ticket for one connection: who has it\n" +
			"has keyboard and screen, so treat it as a password. It speaks RFB (VNC) with extensions of\n" +
			"VMware, which VMware's HTML Console SDK understands; virtctl has no such client of its own.\n" +
			"Your machine has to reach the host, and to trust its certificate: import the CA of vCenter\n" +
			"(https://VCENTER/certs/download.zip), or compare the thumbprint.\n\n" +
			"Prints also a link that opens VMware Remote Console. That has no ticket: you log in there with\n" +
			"an account of vCenter.",
		Example: fmt.Sprintf("  %[1]s console web\n  %[1]s console web -o json | jq -r .status.url", f.program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: f.completeVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := validateOutput(output, outputText, outputYAML, outputJSON); err != nil {
				return err
			}
			return f.console(cmd.Context(), args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "Format: text, yaml or json")
	completeFixed(cmd, "output", outputText, outputYAML, outputJSON)
	return cmd
}

func (f *Factory) console(ctx context.Context, name, output string) error {
	client, namespace, err := f.client()
	if err != nil {
		return err
	}
	got, err := client.VmV1alpha1().VirtualMachines(namespace).Console(ctx, name, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, reason(err))
	}
	if output != outputText {
		got.APIVersion, got.Kind = vmv1alpha1.SchemeGroupVersion.String(), "VirtualMachineConsole"
		return printObject(f.streams.Out, output, got)
	}
	printConsole(f.streams.Out, &got.Status)
	return nil
}

func printConsole(out io.Writer, s *vmv1alpha1.VirtualMachineConsoleStatus) {
	fmt.Fprintf(out, "WebSocket (WebMKS), for one connection until %s at the latest:\n  %s\n", at(&s.ExpirationTimestamp), s.URL)
	fmt.Fprintf(out, "Thumbprint of the certificate of %s:\n  %s\n", s.Host, cmp.Or(s.SSLThumbprintSHA256, s.SSLThumbprint, "not told"))
	fmt.Fprintf(out, "VMware Remote Console, with an account of vCenter:\n  %s\n", s.RemoteConsoleURL)
}
