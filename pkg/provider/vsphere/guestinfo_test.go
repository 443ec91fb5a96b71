// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// The stream delivers variables of the guest and causes a reconcile. A probe sends no call.
func TestGuestInfo_IsObservedWithoutCalls(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("talks", templateImage())
	req.VM.Spec.ReadinessProbe = &vmv1alpha1.VirtualMachineReadinessProbe{GuestInfo: []vmv1alpha1.GuestInfoAction{{Key: "state"}, {Key: "role"}}}
	l.until("the VM runs", isRunning(req), req)
	observed := func() map[string]string {
		r, err := p.Engine.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		if err != nil || r.Observation == nil {
			t.Fatalf("observation %v, error %v", r.Observation, err)
		}
		return r.Observation.GuestInfo
	}
	if got := observed(); got != nil {
		t.Errorf("variables %v, but the guest has set none", got)
	}
	events := make(chan struct{}, 100)
	go p.Watch(t.Context(), func(h provider.Event) {
		if h.Key == provider.KeyOf(req.VM) {
			events <- struct{}{}
		}
	})
	setVariable := func(key, value string) {
		q := url.Values{"vm": {req.VM.Status.UniqueID}, "key": {key}, "value": {value}}
		control(t, ready, http.MethodPut, "/vm/guest?"+q.Encode())
		<-events
	}
	setVariable("other", "not requested")
	setVariable("state", "up")
	eventually(t, "the variable is observed", func() bool { return cmp.Equal(observed(), map[string]string{"state": "up"}) })
	before := counted.snapshot()
	for range 10 {
		observed()
	}
	if diff := cmp.Diff(before, counted.snapshot()); diff != "" {
		t.Errorf("reading variables called vCenter (-before +after):\n%s", diff)
	}
}

// The stream also delivers the address and the heartbeat that the guest reports.
func TestGuestReports_AreObserved(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("claims", templateImage())
	l.until("the VM has an address", func() bool {
		return isRunning(req)() && req.VM.Status.Network != nil && req.VM.Status.Network.PrimaryIP4 != ""
	}, req)
	control(t, ready, http.MethodPut, "/vm/guest?"+url.Values{"vm": {req.VM.Status.UniqueID}, "address": {"10.96.0.1"}}.Encode())
	l.until("the new address is reported", func() bool { return req.VM.Status.Network.PrimaryIP4 == "10.96.0.1" }, req)
	control(t, ready, http.MethodPut, "/vm/guest?"+url.Values{"vm": {req.VM.Status.UniqueID}, "heartbeat": {"yellow"}}.Encode())
	l.until("the heartbeat is Yellow", func() bool { return req.VM.Status.Guest.Heartbeat == vmv1alpha1.GuestHeartbeatYellow }, req)
}
