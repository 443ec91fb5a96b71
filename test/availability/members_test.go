// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

// members starts an etcd cluster of three members and returns the value for --etcd-servers.
func members(t *testing.T) string {
	t.Helper()
	names := []string{"one", "two", "three"}
	var all []string
	for _, name := range names {
		all = append(all, name, name+"-peer")
	}
	chosen, err := ports.Load(filepath.Join(t.TempDir(), "ports"), nil, all...)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) []url.URL { return []url.URL{{Scheme: "http", Host: chosen.Address(name)}} }
	var cluster, endpoints []string
	for _, name := range names {
		cluster = append(cluster, fmt.Sprintf("%s=http://%s", name, chosen.Address(name+"-peer")))
		endpoints = append(endpoints, "http://"+chosen.Address(name))
	}
	var started []*embed.Etcd
	for _, name := range names {
		c := embed.NewConfig()
		c.Name, c.Dir, c.InitialCluster = name, t.TempDir(), strings.Join(cluster, ",")
		c.ListenClientUrls, c.AdvertiseClientUrls = at(name), at(name)
		c.ListenPeerUrls, c.AdvertisePeerUrls = at(name+"-peer"), at(name+"-peer")
		c.ZapLoggerBuilder, c.UnsafeNoFsync = embed.NewZapLoggerBuilder(zap.NewNop()), true
		// On a busy machine the default timeouts would cause frequent leader elections.
		c.TickMs, c.ElectionMs = 500, 5000
		member, err := embed.StartEtcd(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(member.Close)
		started = append(started, member)
	}
	for _, member := range started {
		select {
		case <-member.Server.ReadyNotify():
		case <-time.After(deadline):
			t.Fatal("the members do not form a cluster")
		}
	}
	return strings.Join(endpoints, ",")
}
