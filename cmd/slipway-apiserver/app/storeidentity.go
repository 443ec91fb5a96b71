// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/store/identity"
)

const (
	// etcdDialTimeout bounds a connection attempt.
	etcdDialTimeout = 5 * time.Second
	// An unresponsive connection is replaced after the sum of both.
	etcdKeepAliveTime, etcdKeepAliveTimeout = 10 * time.Second, 5 * time.Second
)

// newStoreGate returns the gate of the store that holds the objects.
func newStoreGate(o *Options, host kubernetes.Interface) (*identity.Gate, error) {
	storage := o.Recommended.Etcd.StorageConfig
	etcd, err := etcdConfig(storage.Transport)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to etcd: %w", err)
	}
	return identity.NewGate(etcd, storage.Prefix, host, o.Controllers.LeaderElectNamespace)
}

// dialThrough makes the object clients connect through a gate. They may start before the gate is set; until then
// nothing is served. The library passes no socket path to a dialer, so with an etcd on a socket the gate compares
// the store only every two seconds.
func dialThrough(t *storagebackend.TransportConfig, gate *atomic.Pointer[identity.Gate]) {
	if slices.ContainsFunc(t.ServerList, func(url string) bool { return strings.HasPrefix(url, "unix") }) {
		return
	}
	t.EgressLookup = func(egressselector.NetworkContext) (utilnet.DialFunc, error) {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			return gate.Load().Dial(ctx, network, address)
		}, nil
	}
}

// etcdConfig returns the configuration of a client for the objects' etcd. Without certificate files, TLS is off.
func etcdConfig(t storagebackend.TransportConfig) (clientv3.Config, error) {
	c := clientv3.Config{Endpoints: t.ServerList, DialTimeout: etcdDialTimeout, DialKeepAliveTime: etcdKeepAliveTime, DialKeepAliveTimeout: etcdKeepAliveTimeout, Logger: zap.NewNop()}
	if t.CertFile == "" && t.KeyFile == "" && t.TrustedCAFile == "" {
		return c, nil
	}
	var err error
	c.TLS, err = transport.TLSInfo{CertFile: t.CertFile, KeyFile: t.KeyFile, TrustedCAFile: t.TrustedCAFile}.ClientConfig()
	return c, err
}
