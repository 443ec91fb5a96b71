// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const outputText = "text"

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var output string
	cmd := &cobra.Command{
		Use:   "console VM",
		Short: "Get a console ticket for a running virtual machine",
		Long: "Get a console ticket for a running virtual machine.\n\n" +
			"Prints the URL of a WebSocket on the ESXi host with a ticket for one connection. It grants\n" +
			"access to keyboard and screen: treat it as a password. The protocol is RFB (VNC) with extensions of\n" +
			"VMware, which VMware's HTML Console SDK supports; virtctl does not contain a client.\n" +
			"Your machine must reach the host and trust its certificate: import the CA of vCenter\n" +
			"(https://VCENTER/certs/download.zip), or compare the thumbprint.\n\n" +
			"Also prints a link that opens VMware Remote Console. It contains no ticket: you log in with\n" +
			"a vCenter account.",
		Example: fmt.Sprintf("  %[1]s console web\n  %[1]s console web -o json | jq -r .status.url", f.Program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.ValidateOutput(output, outputText, cli.OutputYAML, cli.OutputJSON); err != nil {
				return err
			}
			return f.console(cmd.Context(), args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", outputText, "Format: text, yaml or json")
	cli.CompleteFixed(cmd, "output", outputText, cli.OutputYAML, cli.OutputJSON)
	return cmd
}

func (f command) console(ctx context.Context, name, output string) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	got, err := client.VmV1alpha1().VirtualMachines(namespace).Console(ctx, name, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, name, cli.Reason(err))
	}
	if output != outputText {
		got.APIVersion, got.Kind = vmv1alpha1.SchemeGroupVersion.String(), "VirtualMachineConsole"
		return cli.PrintObject(f.Streams.Out, output, got)
	}
	printConsole(f.Streams.Out, &got.Status)
	return nil
}

func printConsole(out io.Writer, s *vmv1alpha1.VirtualMachineConsoleStatus) {
	fmt.Fprintf(out, "WebSocket (WebMKS), for one connection until %s at the latest:\n  %s\n", cli.At(&s.ExpirationTimestamp), s.URL)
	fmt.Fprintf(out, "Certificate thumbprint of %s:\n  %s\n", s.Host, cmp.Or(s.SSLThumbprintSHA256, s.SSLThumbprint, "unknown"))
	fmt.Fprintf(out, "VMware Remote Console, with a vCenter account:\n  %s\n", s.RemoteConsoleURL)
}
