// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
)

// startEtcd starts an etcd with the quota, 0 for the default. Clients reach it over TLS if secured.
func startEtcd(t *testing.T, quota int64, secured *transport.TLSInfo) *embed.Etcd {
	t.Helper()
	dir, err := os.MkdirTemp("", "etcd") // a short path for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := embed.NewConfig()
	cfg.Dir, cfg.UnsafeNoFsync, cfg.QuotaBackendBytes = filepath.Join(dir, "data"), true, LimitOf(quota)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(dir, "peer")}}
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(dir, "client")}}
	if secured != nil {
		cfg.ListenClientUrls = []url.URL{{Scheme: "https", Host: "127.0.0.1:0"}}
		cfg.ClientTLSInfo = *secured
	}
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	select {
	case <-etcd.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd does not start")
	}
	return etcd
}

// embeddedStore starts an embedded member, and returns a client and its store.
func embeddedStore(t *testing.T, quota int64) (*Store, *clientv3.Client) {
	t.Helper()
	etcd := startEtcd(t, quota, nil)
	client := v3client.New(etcd.Server)
	t.Cleanup(func() { _ = client.Close() })
	return New(client, Local{Dir: t.TempDir(), Defragment: etcd.Server.Defragment}), client
}

// externalStore starts an etcd that is reached over TLS, as by --etcd-servers. The first of the two
// endpoints does not answer.
func externalStore(t *testing.T, quota int64) (*Store, *clientv3.Client) {
	t.Helper()
	self, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	etcd := startEtcd(t, quota, &self)
	self.TrustedCAFile = self.CertFile
	tls, err := self.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "https://" + etcd.Clients[0].Addr().String()
	config := clientv3.Config{Endpoints: []string{"https://127.0.0.1:1", endpoint}, TLS: tls, Logger: zap.NewNop()}
	s, err := Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	config.Endpoints = []string{endpoint}
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return s, client
}

// bothKinds runs a test for each kind of store.
func bothKinds(t *testing.T, quota int64, test func(t *testing.T, s *Store, c *clientv3.Client)) {
	for name, start := range map[string]func(*testing.T, int64) (*Store, *clientv3.Client){"embedded": embeddedStore, "external": externalStore} {
		t.Run(name, func(t *testing.T) {
			s, c := start(t, quota)
			test(t, s, c)
		})
	}
}
