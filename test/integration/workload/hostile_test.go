// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/cluster/workload"
)

// maxHeap is the heap that a server with a limit of 1 GiB may use for workload clusters: the heap grows to twice its
// live objects, and the rest of the server needs 100 MiB.
const maxHeap = 256 << 20

// attack is the API server of a tenant. It sends begin, and then chunk repeatedly.
type attack struct{ begin, chunk string }

// hostiles are workload clusters of tenants. 15,500 empty finalizers need 46 KB as JSON and 248 KB in memory.
func hostiles() map[string]attack {
	finalizers := strings.Repeat(`"",`, 15_500) + `""`
	large := `{"metadata":{"name":"n","finalizers":[` + finalizers + `]},"spec":{"providerID":"other"}}`
	const list = `{"metadata":{"resourceVersion":"1","continue":"more"},"items":[`
	return map[string]attack{
		"nodes":      {list, large + ","},
		"finalizers": {list + `{"metadata":{"name":"n","finalizers":[`, strings.Repeat(`"",`, 10_000)},
		"text":       {list + `{"metadata":{"name":"`, strings.Repeat("x", 64<<10)},
		"labels":     {list + `{"metadata":{"labels":{`, strings.Repeat(`"a":"",`, 10_000)},
		"conditions": {list + `{"metadata":{"name":"n"},"status":{"conditions":[`, strings.Repeat(`{},`, 10_000)},
		"events":     {"", strings.Repeat(`{"type":"ADDED","object":`+large+"}\n", 2)},
		"blanks":     {"", strings.Repeat(" ", 64<<10)},
		"depth":      {list, strings.Repeat(`[`, 64<<10)},
	}
}

// serve answers as an API server with one empty page. All other requests get the attack, until the client disconnects.
func (a attack) serve(t *testing.T, sent *atomic.Int64) (kubeconfig []byte) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/" || r.URL.Query().Get("limit") == "1" {
			_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"}}`)
			return
		}
		if a.begin != "" && r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		sent.Add(1)
		for _, err := fmt.Fprint(w, a.begin); err == nil && r.Context().Err() == nil; {
			_, err = fmt.Fprint(w, a.chunk)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections) // before Close, which waits for them
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, s.URL, ca)
}

func heapObjects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestHostileClusters_TakeNoMoreMemoryThanAServerHas(t *testing.T) {
	w := start(t)
	// A namespace has one connection slot, so each attack has its own namespace. One attack is in the namespace of
	// blue.
	sent := map[types.NamespacedName]*atomic.Int64{}
	for name, a := range hostiles() {
		key := w.key(name)
		if name != "text" {
			key.Namespace = namespace(t)
		}
		sent[key] = &atomic.Int64{}
		secret(t, key, a.serve(t, sent[key]))
	}
	w.secret(t, "blue", cluster.Kubeconfig())
	n := w.node(t, "n", "vsphere://"+w.namespace)
	started := heapObjects()
	ctx, stop := context.WithCancel(t.Context())
	var sampling sync.WaitGroup
	var peak uint64
	sampling.Go(func() {
		for again := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-again.C {
			peak = max(peak, heapObjects())
		}
	})
	w.until(t, "each cluster has answered", func() bool {
		all := true
		for key, n := range sent {
			if conn, err := w.Connection(key); err == nil {
				_, _ = conn.Nodes("vsphere://machine", "")
			}
			all = all && n.Load() > 0
		}
		return all
	})
	stop()
	sampling.Wait()
	t.Logf("the heap grew from %d to %d MiB", started>>20, peak>>20)
	if peak > maxHeap {
		t.Errorf("the heap had %d MiB, and may have %d", peak>>20, maxHeap>>20)
	}
	// A healthy cluster of the same namespace is read at the same time.
	conn := w.connected(t, "blue")
	var found []*workload.Node
	w.until(t, "the Node of the other cluster is read", func() bool {
		var err error
		found, err = conn.Nodes("vsphere://"+w.namespace, "")
		return err == nil
	})
	if got := names(found); len(got) != 1 || got[0] != n.Name {
		t.Errorf("Nodes %v, want %s", got, n.Name)
	}
}
