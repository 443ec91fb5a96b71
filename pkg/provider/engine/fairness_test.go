// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

func TestSlots_ManyCreatesInOneNamespaceDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, flood = 12, 2000
		d := fake.New()
		e := engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: places}})
		run(t, e)
		synctest.Wait()
		s := &scene{t: t, Engine: e, driver: d}
		release := d.Block()
		waiting := map[provider.Key]*provider.Request{}
		ask := func(namespace, name string) {
			req := newRequest(name)
			req.VM.Namespace = namespace
			if r, _ := s.once(req, e.CreateOrUpdateVirtualMachineAsync); r.Ended == nil {
				waiting[provider.KeyOf(req.VM)] = req
			}
		}
		for i := range places + flood {
			ask("flood", fmt.Sprintf("vm-%d", i))
		}
		ask("victim", "vm")
		if len(waiting) != flood+1 {
			t.Fatalf("%d objects wait, want %d", len(waiting), flood+1)
		}

		watching, stop := context.WithCancel(t.Context())
		defer stop()
		hints := make(chan provider.Key, flood)
		go e.Watch(watching, func(h provider.Event) { hints <- h.Key })
		release()
		for started := 1; started <= places+1; {
			key := <-hints
			req := waiting[key]
			if req == nil {
				continue
			}
			if r, _ := s.once(req, e.CreateOrUpdateVirtualMachineAsync); r.Ended == nil {
				continue
			}
			if key.Namespace == "victim" {
				return
			}
			delete(waiting, key)
			started++
		}
		t.Errorf("the next %d creates were all in the other namespace", places+1)
	})
}
