// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/component-base/version"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of virtctl and of the API that the cluster serves",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(f.Streams.Out, "Client: %s\n", version.Get().GitVersion)
			if clientOnly {
				return nil
			}
			client, _, err := f.Client()
			if err != nil {
				return err
			}
			cluster := discovery.ToDiscoveryInterfaceWithContext(client.Discovery())
			server, err := cluster.ServerVersionWithContext(cmd.Context())
			if err != nil {
				return fmt.Errorf("reading the version of the cluster: %w", err)
			}
			resources, err := cluster.ServerResourcesForGroupVersionWithContext(cmd.Context(), vmv1alpha1.SchemeGroupVersion.String())
			if err != nil {
				return fmt.Errorf("reading the API %s: %w", vmv1alpha1.SchemeGroupVersion, err)
			}
			fmt.Fprintf(f.Streams.Out, "Cluster: %s\nAPI: %s (%d resources)\n", server.GitVersion, vmv1alpha1.SchemeGroupVersion, len(resources.APIResources))
			return nil
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Print only the version of virtctl")
	return cmd
}
