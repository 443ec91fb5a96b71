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

// newReleaseCommand returns the command that releases a store of either kind. Its flag --data-dir is its
// own, because that of the other commands is required.
func newReleaseCommand(ctx context.Context, prefix *string) *cobra.Command {
	var dir string
	var servers storagebackend.TransportConfig
	cmd := &cobra.Command{
		Use: "release", Args: cobra.NoArgs, Short: "Let the controllers act on a store that was restored, moved or accepted",
		Long: "Let the controllers act on a store that was restored, moved or accepted.\n" +
			"Give the flags by which the server reaches its store: --data-dir, or --etcd-servers with its certificates.",
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
			answer := "released: the controllers start within seconds"
			if !released {
				answer = "nothing waits: the store was not restored, or was released before"
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
		return nil, nil, errors.New("give one of the flags --data-dir and --etcd-servers")
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

// hold makes the controllers of the store in a directory wait.
func hold(ctx context.Context, dir, prefix, reason string) error {
	a, err := embedded.Attach(ctx, dir)
	if err != nil {
		return err
	}
	defer a.Close()
	return identity.Hold(ctx, a.Client(), prefix, reason)
}
