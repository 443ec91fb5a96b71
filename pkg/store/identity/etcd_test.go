// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const prefix = "/registry/slipway.dev"

// etcdConfig is that of a member with its data in dir.
func etcdConfig(t *testing.T, dir string) *embed.Config {
	t.Helper()
	sockets, err := os.MkdirTemp("", "identity-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync, c.ZapLoggerBuilder = dir, true, embed.NewZapLoggerBuilder(zap.NewNop())
	c.TickMs, c.ElectionMs = 10, 100
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(sockets, "client")}}
	c.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(sockets, "peer")}}
	return c
}

// startEtcd starts a member, which ends with the test or by stop.
func startEtcd(t *testing.T, c *embed.Config) (kv clientv3.KV, stop func()) {
	t.Helper()
	e, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(e.Close)
	t.Cleanup(stop)
	<-e.Server.ReadyNotify()
	return v3client.New(e.Server).KV, stop
}

func put(t *testing.T, kv clientv3.KV, n int) {
	t.Helper()
	for range n {
		if _, err := kv.Put(t.Context(), prefix+"/object", ""); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStore_HasAnIDThatStaysAndCanBeReadWhenEtcdIsFull(t *testing.T) {
	t.Parallel()
	c := etcdConfig(t, t.TempDir())
	c.QuotaBackendBytes = 1 << 20
	kv, _ := startEtcd(t, c)
	s := &etcdStore{kv: kv, prefix: prefix}
	first, held, err := s.read(t.Context())
	if err != nil || first.id == "" || first.cluster == "" || first.revision != 2 || held != "" {
		t.Fatalf("a new store: %+v, held by %q, error %v", first, held, err)
	}
	if other, _, err := (&etcdStore{kv: kv, prefix: "/other"}).read(t.Context()); err != nil || other.id == first.id {
		t.Errorf("another prefix of the same etcd: %+v, error %v", other, err)
	}
	for err = error(nil); !errors.Is(err, rpctypes.ErrNoSpace); {
		if _, err = kv.Put(t.Context(), prefix+"/object", strings.Repeat("x", 100<<10)); err != nil && !strings.Contains(err.Error(), "space exceeded") {
			t.Fatal(err)
		} else if err != nil {
			break
		}
	}
	again, _, err := s.read(t.Context())
	if err != nil || again.id != first.id || again.cluster != first.cluster || again.revision <= first.revision {
		t.Errorf("the store is %+v, and was %+v, error %v", again, first, err)
	}
}

func TestStore_IsHeldUntilItIsReleased(t *testing.T) {
	t.Parallel()
	kv, _ := startEtcd(t, etcdConfig(t, t.TempDir()))
	s := &etcdStore{kv: kv, prefix: prefix}
	for _, reason := range []string{"restored", "restored again"} { // the first one is kept
		if err := s.hold(t.Context(), reason); err != nil {
			t.Fatal(err)
		}
	}
	_, held, err := s.read(t.Context())
	if err != nil || held != "restored" {
		t.Errorf("held by %q, error %v", held, err)
	}
	if held, err := Held(t.Context(), kv, prefix); err != nil || held != "restored" {
		t.Errorf("Held = %q, %v", held, err)
	}
	for _, want := range []bool{true, false} {
		if was, err := Release(t.Context(), kv, prefix); err != nil || was != want {
			t.Errorf("Release = %t, %v, want %t", was, err, want)
		}
	}
	if _, held, err := s.read(t.Context()); err != nil || held != "" {
		t.Errorf("held by %q after the release, error %v", held, err)
	}
}

// The data of a snapshot takes the place of a store that the management cluster knows, while no server
// runs or while one does. Every crash and every replica comes to the same result.
func TestGate_RestoredEtcdIsHeldUntilItIsReleased(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		writes  int // after the snapshot
		token   string
		bump    uint64
		accept  bool // the store is refused before that
		running bool
	}{
		"ahead, in the same cluster":                  {writes: 5, bump: 1_000_000_000},
		"ahead, in the same cluster, under a server":  {writes: 5, bump: 1_000_000_000, running: true},
		"in another cluster, without writes since":    {token: "other"},
		"ahead, in another cluster":                   {writes: 5, token: "other", bump: 1_000_000_000},
		"behind, in the same cluster":                 {writes: 5, accept: true},
		"behind, in another cluster":                  {writes: 5, token: "other", accept: true},
		"behind, in the same cluster, under a server": {writes: 5, accept: true, running: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, dir := fake.NewClientset(), t.TempDir()
			c := etcdConfig(t, filepath.Join(dir, "before"))
			kv, stop := startEtcd(t, c)
			put(t, kv, 3)
			first := newGate(&etcdStore{kv: kv, prefix: prefix}, host, namespace)
			if err := first.Compare(t.Context()); err != nil {
				t.Fatal(err)
			}
			stop()
			copied := filepath.Join(dir, "db")
			data, err := os.ReadFile(filepath.Join(c.Dir, "member", "snap", "db"))
			if err == nil {
				err = os.WriteFile(copied, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			kv, stop = startEtcd(t, c)
			put(t, kv, tc.writes)
			first.store = &etcdStore{kv: kv, prefix: prefix}
			if err := first.Compare(t.Context()); err != nil {
				t.Fatal(err)
			}
			stop()

			after := etcdConfig(t, filepath.Join(dir, "after"))
			if tc.token != "" {
				after.InitialClusterToken = tc.token
			}
			err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
				SnapshotPath: copied, SkipHashCheck: true, OutputDataDir: after.Dir, Name: after.Name, InitialCluster: after.InitialCluster,
				InitialClusterToken: after.InitialClusterToken, PeerURLs: []string{after.AdvertisePeerUrls[0].String()},
				RevisionBump: tc.bump, MarkCompacted: tc.bump > 0,
			})
			if err != nil {
				t.Fatal(err)
			}
			kv, _ = startEtcd(t, after)
			if tc.running {
				first.store = &etcdStore{kv: kv, prefix: prefix}
				if err := first.Run(t.Context()); !errors.Is(err, errRefused) || first.Err() == nil {
					t.Errorf("the server that served the previous store: %v; its gate is closed by %v", err, first.Err())
				}
			}
			expectHeld(t, host, kv, tc.accept)
		})
	}
}

// expectHeld starts servers, one of which crashes before the management cluster knows the store.
func expectHeld(t *testing.T, host *fake.Clientset, kv clientv3.KV, accept bool) {
	t.Helper()
	if accept {
		refused := newGate(&etcdStore{kv: kv, prefix: prefix}, host, namespace)
		if err := refused.Compare(t.Context()); !errors.Is(err, errRefused) {
			t.Fatalf("a store that is older: %v", err)
		}
		now, _, err := refused.store.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		patch := []byte(`{"metadata":{"annotations":{"` + AcceptAnnotation + `":"` + now.id + `"}}}`)
		if _, err := host.CoreV1().ConfigMaps(namespace).Patch(t.Context(), ConfigMapName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := known(t, host)
	crash := true
	host.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return crash, nil, apierrors.NewServiceUnavailable("crash")
	})
	if err := newGate(&etcdStore{kv: kv, prefix: prefix}, host, namespace).Compare(t.Context()); !apierrors.IsServiceUnavailable(err) {
		t.Fatalf("a server that cannot record the store: %v", err)
	}
	if now, _ := known(t, host); now[revisionKey] != before[revisionKey] {
		t.Fatalf("the known store is %v, and was %v", now, before)
	}
	if held, err := Held(t.Context(), kv, prefix); err != nil || held == "" {
		t.Errorf("before the management cluster knows the store it is held by %q, error %v", held, err)
	}
	crash = false
	for _, replica := range []string{"the next server", "another replica"} {
		g := newGate(&etcdStore{kv: kv, prefix: prefix}, host, namespace)
		if err := g.Compare(t.Context()); err != nil || *g.held.Load() == "" {
			t.Errorf("%s: error %v, held by %q", replica, err, *g.held.Load())
		}
	}
	if was, err := Release(t.Context(), kv, prefix); err != nil || !was {
		t.Errorf("Release = %t, %v", was, err)
	}
	g := newGate(&etcdStore{kv: kv, prefix: prefix}, host, namespace)
	if err := g.Compare(t.Context()); err != nil || !g.Await(t.Context()) {
		t.Errorf("after the release: %v, held by %q", err, *g.held.Load())
	}
}
