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
		const slots, others = 12, 2000
		d := fake.New()
		e := engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: slots}})
		run(t, e)
		synctest.Wait()
		s := &testSetup{t: t, Engine: e, driver: d}
		release := d.Block()
		waiting := map[provider.Key]*provider.Request{}
		request := func(namespace, name string) {
			req := newRequest(name)
			req.VM.Namespace = namespace
			if r, _ := s.reconcileOnce(req, e.CreateOrUpdateVirtualMachineAsync); r.Ended == nil {
				waiting[provider.KeyOf(req.VM)] = req
			}
		}
		for i := range slots + others {
			request("flood", fmt.Sprintf("vm-%d", i))
		}
		request("victim", "vm")
		if len(waiting) != others+1 {
			t.Fatalf("%d objects wait, want %d", len(waiting), others+1)
		}

		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		events := make(chan provider.Key, others)
		go e.Watch(ctx, func(h provider.Event) { events <- h.Key })
		release()
		for started := 1; started <= slots+1; {
			key := <-events
			req := waiting[key]
			if req == nil {
				continue
			}
			if r, _ := s.reconcileOnce(req, e.CreateOrUpdateVirtualMachineAsync); r.Ended == nil {
				continue
			}
			if key.Namespace == "victim" {
				return
			}
			delete(waiting, key)
			started++
		}
		t.Errorf("the next %d creates were all in the other namespace", slots+1)
	})
}
