// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"sync"
	"testing"

	"github.com/vmware/govmomi/object"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/conformance"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
)

// gate blocks calls.
type gate struct {
	calls
	mu       sync.Mutex
	released chan struct{}
}

// await counts a call. It blocks the first call of a create while the gate is closed.
func (g *gate) await(method string) {
	g.count(method)
	if method != "FindAllByUuid" {
		return
	}
	g.mu.Lock()
	released := g.released
	g.mu.Unlock()
	if released != nil {
		<-released
	}
}

func (g *gate) hold() func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	released := make(chan struct{})
	g.released = released
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.released = nil
		close(released)
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T, createSlots int) *conformance.Target {
		ready := startVCenter(t)
		g := &gate{}
		p := newProvider(t, settings{Options: engine.Options{Limits: engine.Limits{Creates: createSlots}}, Config: Config{
			URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
			Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5, OnCall: g.await,
		}})
		return &conformance.Target{
			Provider: p.Engine,
			Start:    func() { run(t, p) },
			Request:  func(name string) *provider.Request { return newRequest(name, libraryImage()) },
			Hold:     g.hold,
			Count: func(id string) int {
				c := admin(t, ready)
				instance := true
				refs, err := object.NewSearchIndex(c.Client).FindAllByUuid(t.Context(), nil, id, true, &instance)
				if err != nil {
					t.Fatal(err)
				}
				return len(refs)
			},
			Calls: func() int {
				n := 0
				for _, v := range g.snapshot() {
					n += v
				}
				return n
			},
		}
	})
}
