// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/store/identity"
)

// etcdDialTimeout bounds a connection.
const etcdDialTimeout = 5 * time.Second

// newStoreGate keeps objects of a store that host does not know from being served.
func newStoreGate(o *Options, host kubernetes.Interface) (*identity.Gate, error) {
	storage := o.Recommended.Etcd.StorageConfig
	etcd, err := etcdConfig(storage.Transport)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to etcd: %w", err)
	}
	return identity.NewGate(etcd, storage.Prefix, host, o.Controllers.LeaderElectNamespace), nil
}

// etcdConfig reaches the etcd of the objects, as they do: without any of the files there
// is no TLS.
func etcdConfig(t storagebackend.TransportConfig) (clientv3.Config, error) {
	c := clientv3.Config{Endpoints: t.ServerList, DialTimeout: etcdDialTimeout, Logger: zap.NewNop()}
	if t.CertFile == "" && t.KeyFile == "" && t.TrustedCAFile == "" {
		return c, nil
	}
	var err error
	c.TLS, err = transport.TLSInfo{CertFile: t.CertFile, KeyFile: t.KeyFile, TrustedCAFile: t.TrustedCAFile}.ClientConfig()
	return c, err
}
