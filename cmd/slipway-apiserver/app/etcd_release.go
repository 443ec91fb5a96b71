// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

// newReleaseCommand returns the command that releases an embedded or external store. It has a --data-dir flag of its
// own because that of the parent command is required.
func newReleaseCommand(ctx context.Context, prefix *string) *cobra.Command {
	var dir string
	var servers storagebackend.TransportConfig
	cmd := &cobra.Command{
		Use: "release", Args: cobra.NoArgs, Short: "Resume the controllers after a store was restored, moved or accepted",
		Long: "Resume the controllers after a store was restored, moved or accepted.\n" +
			"Use the flags with which the server connects to its store: --data-dir, or --etcd-servers with its certificates.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, closeStore, err := openStore(ctx, dir, servers)
			if err != nil {
				return err
			}
			defer closeStore()
			ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
			defer cancel()
			released, err := identity.Release(ctx, client, *prefix)
			if err != nil {
				return err
			}
			answer := "released: the controllers will start within seconds"
			if !released {
				answer = "nothing to release: the store was not restored, or is already released"
			}
			return printLine(cmd.OutOrStdout(), answer)
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "Directory of the embedded etcd, as given to the server.")
	cmd.Flags().StringSliceVar(&servers.ServerList, "etcd-servers", nil, "URLs of the etcd servers, as given to the server.")
	cmd.Flags().StringVar(&servers.TrustedCAFile, "etcd-cafile", "", "File with the certificates that the etcd servers are verified with.")
	cmd.Flags().StringVar(&servers.CertFile, "etcd-certfile", "", "File with the client certificate for etcd.")
	cmd.Flags().StringVar(&servers.KeyFile, "etcd-keyfile", "", "File with the key of the client certificate.")
	return cmd
}

// releaseTimeout bounds the wait for etcd.
const releaseTimeout = 30 * time.Second

// openStore returns a client of the embedded etcd in a directory, or of etcd servers.
func openStore(ctx context.Context, dir string, servers storagebackend.TransportConfig) (client *clientv3.Client, closeStore func(), err error) {
	switch {
	case (dir == "") == (len(servers.ServerList) == 0):
		return nil, nil, errors.New("specify either --data-dir or --etcd-servers")
	case dir != "":
		a, err := embedded.Attach(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		return a.Client(), a.Close, nil
	}
	config, err := etcdConfig(servers)
	if err == nil {
		client, err = clientv3.New(config)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	return client, func() { _ = client.Close() }, nil
}

// hold makes the controllers wait for a release of the store in a directory.
func hold(ctx context.Context, dir, prefix, reason string) error {
	a, err := embedded.Attach(ctx, dir)
	if err != nil {
		return err
	}
	defer a.Close()
	return identity.Hold(ctx, a.Client(), prefix, reason)
}
