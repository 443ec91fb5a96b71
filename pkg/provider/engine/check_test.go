// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// checker records the desired states for which Check is called.
type checker struct {
	*fake.Driver
	mu   sync.Mutex
	seen []*driver.Desired
}

func (c *checker) Check(_ context.Context, w *driver.Desired, _ ...string) driver.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, w)
	return driver.Report{vmv1alpha1.ConditionNetworkReady: &driver.NotUsableError{Message: "vSphere has no network", Missing: true}}
}

func TestCheck_UsesTheSpecOfAVMWithoutASize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &checker{Driver: fake.New()}
		s := &testSetup{t: t, driver: c.Driver, Engine: engine.New(engine.Options{Driver: c})}
		run(t, s.Engine)
		synctest.Wait()
		req := newRequest("vm")
		req.Effective, req.Image, req.PrerequisitesReady = nil, nil, false
		req.VM.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: "nope"}}}
		req.VM.Spec.StorageClass = "missing"
		_ = s.reconcile(req)
		if len(c.seen) == 0 || c.seen[0].Effective == nil || c.seen[0].Effective.Network == nil || c.seen[0].Effective.StorageClass != "missing" {
			t.Fatalf("Check was called for %+v, want the network and the class of the spec", c.seen)
		}
		if got := conditionOf(req, vmv1alpha1.ConditionNetworkReady); got != "False NotFound vSphere has no network" || created(req) != "False WaitingForPrerequisites" {
			t.Errorf("NetworkReady is %s, Created %s", got, created(req))
		}
		if s.driver.CreatedCount() != 0 {
			t.Error("a VM without a size was created")
		}
	})
}
