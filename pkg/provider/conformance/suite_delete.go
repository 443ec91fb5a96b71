// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// remove calls delete immediately and after every event, until the deletion is complete.
func (o *observer) remove(req *provider.Request) {
	o.t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		err := o.delete(req)
		if err == nil {
			return
		}
		after, again := provider.AsRequeue(err)
		if !again && !errors.Is(err, provider.ErrReconcileInProgress) && !errors.Is(err, provider.ErrUnknownState) {
			o.t.Fatalf("delete: %v", err)
		}
		if !again {
			after = timeout
		}
		retry := time.NewTimer(after)
		select {
		case <-o.wake:
		case <-retry.C:
		case <-deadline.C:
			o.t.Fatalf("timeout: no event led to the end of the deletion; last error: %v", err)
		}
		retry.Stop()
	}
}

func testDeleteDuringCreate(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	warm := o.Request("warm")
	o.until("the first VM runs", poweredOn(warm), warm)
	release := o.Hold()
	req := o.Request("vm")
	if ch, err := o.reconcile(req); ch == nil {
		t.Fatalf("no create was started: %v", err)
	}
	if err := o.delete(req); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("delete during a create = %v, want ErrReconcileInProgress", err)
	}
	release()
	o.remove(req)
	if n := o.Count(string(req.VM.UID)); n != 0 {
		t.Errorf("the hypervisor has %d VMs, want none", n)
	}
	o.remove(warm)
	if n := o.Count(string(warm.VM.UID)); n != 0 {
		t.Errorf("after the deletion of a running VM the hypervisor has %d VMs, want none", n)
	}
	// The slot of the create is free.
	next := o.Request("next")
	o.until("the next VM runs", poweredOn(next), next)
}

func testDeleteMissing(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	req := o.Request("never-made")
	o.remove(req)
	o.remove(req)
}

func testBlocking(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	req := o.Request("vm")
	o.until("the hypervisor is read", o.readable)
	for range 20 {
		req.Now = time.Now()
		r, err := o.Provider.CreateOrUpdateVirtualMachine(t.Context(), req)
		r.Apply(&req.VM.Status, req.VM.Generation, req.Now)
		if err == nil {
			break
		}
		if _, again := provider.AsRequeue(err); !again {
			t.Fatalf("CreateOrUpdateVirtualMachine: %v", err)
		}
	}
	o.until("the VM runs", poweredOn(req), req)
}

// An object can be deleted without DeleteVirtualMachine if the vSphere VM must be kept or a user removed the finalizer.
func testForget(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	warm := o.Request("warm")
	o.until("the first VM runs", poweredOn(warm), warm)
	release := o.Hold()
	first, gone, next := o.Request("first"), o.Request("gone"), o.Request("next")
	if ch, err := o.reconcile(first); ch == nil {
		t.Fatalf("no create was started: %v", err)
	}
	for _, req := range []*provider.Request{gone, next} {
		if _, err := o.reconcile(req); !errors.Is(err, provider.ErrTooManyCreates) {
			t.Fatalf("second create = %v, want ErrTooManyCreates", err)
		}
	}
	o.Provider.Forget(types.NamespacedName{Namespace: gone.VM.Namespace, Name: gone.VM.Name})
	release()
	o.until("the next VM runs", poweredOn(first, next), first, next)
	if n := o.Count(string(gone.VM.UID)); n != 0 {
		t.Errorf("the hypervisor has %d VMs of the deleted object, want none", n)
	}
}

// The object has the instance UUID of another object's VM in spec.instanceUUID.
func testForeign(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	victim := o.Request("victim")
	o.until("the VM runs", poweredOn(victim), victim)
	id := string(victim.VM.UID)
	for _, namespace := range []string{victim.VM.Namespace, "another"} {
		thief := o.Request("thief")
		thief.VM.Namespace, thief.VM.Spec.InstanceUUID, thief.VM.Spec.PowerState = namespace, id, vmv1alpha1.PoweredOff
		if ch, err := o.reconcile(thief); ch != nil || !provider.IsNoRequeue(err) {
			t.Errorf("reconcile = %v, want a NoRequeueError and nothing started", err)
		}
		c := meta.FindStatusCondition(thief.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
		if c == nil || c.Reason != vmv1alpha1.ReasonInvalid || strings.Contains(c.Message, victim.VM.Name) || thief.VM.Status.UniqueID != "" {
			t.Errorf("Created = %+v, uniqueID %q; want reason Invalid and no information about the other object", c, thief.VM.Status.UniqueID)
		}
		o.remove(thief)
	}
	o.until("the other object's VM still runs", poweredOn(victim), victim)
	if n := o.Count(id); n != 1 {
		t.Errorf("the hypervisor has %d VMs of the other object, want 1", n)
	}
}
