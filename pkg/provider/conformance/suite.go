// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Run runs the suite.
func Run(t *testing.T, newTarget MakeTarget) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, MakeTarget)
	}{
		{"an unread hypervisor means an unknown state", testUnknown},
		{"a repeated create runs once", testCreatesOnce},
		{"a reconcile without changes sends no requests", testSteady},
		{"creates are limited, and a waiting object gets an event", testCreateLimit},
		{"the power state follows the spec", testPower},
		{"without an effective spec only power off works", testUnresolved},
		{"without prerequisites nothing is created", testPrerequisites},
		{"deleting during a create leaves nothing", testDeleteDuringCreate},
		{"deleting a VM that does not exist succeeds", testDeleteMissing},
		{"a VM of another object is not changed", testForeign},
		{"a forgotten object uses no create slot", testForget},
		{"CreateOrUpdateVirtualMachine waits for the operation", testBlocking},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newTarget) })
	}
}

func testUnknown(t *testing.T, newTarget MakeTarget) {
	o := observe(t, newTarget(t, 1))
	req := o.Request("vm")
	if ch, err := o.reconcile(req); ch != nil || !errors.Is(err, provider.ErrUnknownState) {
		t.Fatalf("reconcile = %v, want ErrUnknownState and nothing started", err)
	}
	if err := o.delete(req); !errors.Is(err, provider.ErrUnknownState) {
		t.Fatalf("delete = %v, want ErrUnknownState", err)
	}
	if err := o.Provider.Healthy(t.Context()); err == nil && !o.readable() {
		t.Error("Healthy = nil before the hypervisor was read")
	}
	o.Start()
	o.until("the VM runs", poweredOn(req), req)
}

// readable reports whether the state of the hypervisor is known.
func (o *observer) readable() bool {
	probe := o.Request("probe")
	probe.PrerequisitesReady = false
	_, err := o.reconcile(probe)
	return !errors.Is(err, provider.ErrUnknownState)
}

func testCreatesOnce(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 2)
	req := o.Request("vm")
	o.until("the hypervisor is read", func() bool { return o.hasCreatedCondition(req) }, req)
	o.until("the VM runs", poweredOn(req), req)
	if n := o.Count(string(req.VM.UID)); n != 1 {
		t.Errorf("the hypervisor has %d VMs, want 1", n)
	}
	again := o.Request("vm")
	again.VM.UID = req.VM.UID // a new process has the object without a status
	o.until("the VM is found", poweredOn(again), again)
	if n := o.Count(string(req.VM.UID)); n != 1 {
		t.Errorf("after a repeated create the hypervisor has %d VMs, want 1", n)
	}
	if again.VM.Status.UniqueID != req.VM.Status.UniqueID {
		t.Errorf("found %s, want %s", again.VM.Status.UniqueID, req.VM.Status.UniqueID)
	}
}

// hasCreatedCondition reports whether the provider has set the Created condition.
func (o *observer) hasCreatedCondition(req *provider.Request) bool {
	return meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated) != nil
}

func testSteady(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	req := o.Request("vm")
	o.until("the VM runs", poweredOn(req), req)
	o.until("the VM is in the desired state", func() bool { ch, err := o.reconcile(req); return ch == nil && err == nil }, req)
	calls, status := o.Calls(), req.VM.Status.DeepCopy()
	for range 10 {
		if ch, err := o.reconcile(req); ch != nil || err != nil {
			t.Fatalf("a reconcile without changes started an operation or failed: %v", err)
		}
	}
	if got := o.Calls(); got != calls {
		t.Errorf("10 reconciles without changes sent %d requests to the hypervisor", got-calls)
	}
	if diff := cmp.Diff(status, &req.VM.Status); diff != "" {
		t.Errorf("a reconcile without changes changed the status (-before +after):\n%s", diff)
	}
}

func testCreateLimit(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 2)
	warm := o.Request("warm")
	o.until("the first VM runs", poweredOn(warm), warm)
	release := o.Hold()
	reqs := []*provider.Request{}
	refused := 0
	before := o.Calls()
	for i := range 5 {
		req := o.Request(fmt.Sprintf("vm-%d", i))
		reqs = append(reqs, req)
		switch _, err := o.reconcile(req); {
		case errors.Is(err, provider.ErrTooManyCreates):
			refused++
			c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
			if c == nil || c.Reason != vmv1alpha1.ReasonTooManyCreates {
				t.Errorf("Created = %+v, want reason TooManyCreates", c)
			}
		case err != nil:
			t.Fatal(err)
		}
		if _, err := o.reconcile(req); i < 2 && !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("second reconcile of vm-%d = %v, want ErrReconcileInProgress", i, err)
		}
	}
	if refused != 3 {
		t.Errorf("%d creates were rejected, want 3 of 5 with 2 slots", refused)
	}
	if n := o.Calls() - before; n > 2 {
		t.Errorf("5 creates with 2 slots sent %d requests to the hypervisor while they were blocked", n)
	}
	release()
	o.until("all VMs run", poweredOn(reqs...), reqs...)
}

func testPower(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	req := o.Request("vm")
	st := &req.VM.Status
	for _, want := range []vmv1alpha1.PowerState{
		vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOn, vmv1alpha1.Suspended, vmv1alpha1.PoweredOn, vmv1alpha1.Suspended, vmv1alpha1.PoweredOff,
	} {
		req.VM.Spec.PowerState = want
		o.until("the VM is "+string(want), func() bool {
			return st.PowerState == want && meta.IsStatusConditionTrue(st.Conditions, vmv1alpha1.ConditionPowerStateSynced)
		}, req)
	}
	req.VM.Spec.PowerState = vmv1alpha1.Suspended
	if ch, err := o.reconcile(req); ch != nil || !provider.IsNoRequeue(err) {
		t.Errorf("suspending a VM that is off = %v, want a NoRequeueError", err)
	}
}

func testUnresolved(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	req := o.Request("vm")
	o.until("the VM runs", poweredOn(req), req)
	req.Effective = nil
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	o.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	if ch, _ := o.reconcile(req); ch != nil {
		t.Error("a VM without an effective spec was powered on")
	}
}

func testPrerequisites(t *testing.T, newTarget MakeTarget) {
	o := start(t, newTarget, 1)
	req := o.Request("vm")
	req.PrerequisitesReady = false
	o.until("the hypervisor is read", func() bool { return o.hasCreatedCondition(req) }, req)
	if n := o.Count(string(req.VM.UID)); n != 0 {
		t.Errorf("the hypervisor has %d VMs, want none", n)
	}
	req.PrerequisitesReady = true
	o.until("the VM runs", poweredOn(req), req)
}
