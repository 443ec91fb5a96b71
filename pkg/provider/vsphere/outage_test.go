// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/events"
)

// control sends a control request to the simulated vCenter.
func control(t *testing.T, ready vcenter.Ready, method, path string) {
	t.Helper()
	simulated.Control(t, ready, method, path)
}

// ask sends a control request and returns the response.
func ask(t *testing.T, ready vcenter.Ready, method, path string) string {
	t.Helper()
	return string(simulated.Control(t, ready, method, path))
}

// vmsOf lists the VMs in vCenter except templates. It includes VMs that clients cannot see.
func vmsOf(t *testing.T, ready vcenter.Ready) []events.VM {
	t.Helper()
	var all []events.VM
	if err := json.Unmarshal([]byte(ask(t, ready, http.MethodGet, "/vms")), &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(vm events.VM) bool { return vm.Template })
}

func TestOutage_IsReportedAsUnknownAndThenRecovered(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first := newRequest("first", libraryImage())
	l.until("the first VM runs", isRunning(first), first)
	reqs := []*provider.Request{first}
	for i := range 10 {
		reqs = append(reqs, newRequest(fmt.Sprintf("vm-%d", i), templateImage()))
	}
	control(t, ready, http.MethodPost, "/outage?seconds=1")
	eventually(t, "the loss of the stream is detected", func() bool { return !p.inventory.Synced() })
	if err := p.Healthy(t.Context()); err == nil {
		t.Error("Healthy = nil during the outage")
	}
	unknown := newRequest("unknown", libraryImage())
	unknown.Now = time.Now()
	if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), unknown); ch != nil || !errors.Is(err, provider.ErrUnknownState) {
		t.Errorf("reconcile during the outage = %v, want ErrUnknownState", err)
	}
	l.until("all VMs run", isRunning(reqs...), reqs...)
	if got := len(inVCenter(t, ready)); got != len(reqs) {
		t.Errorf("vCenter has %d VMs, want %d", got, len(reqs))
	}
}

func TestStream_LeavesNoObjectsInVCenterAfterAnOutage(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	openObjects := func() int {
		var all []any
		if err := json.Unmarshal([]byte(ask(t, ready, http.MethodGet, "/opened")), &all); err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	eventually(t, "the stream is connected", p.inventory.Synced)
	before := openObjects()
	for range 2 {
		control(t, ready, http.MethodPost, "/outage?seconds=60")
		eventually(t, "the loss of the stream is detected", func() bool { return !p.inventory.Synced() })
		control(t, ready, http.MethodPost, "/outage?seconds=0")
		eventually(t, "the stream is connected again", p.inventory.Synced)
	}
	eventually(t, "the objects of the lost streams are destroyed", func() bool { return openObjects() == before })
}

func TestDeletion_LeavesNoVMDuringALongCreate(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first := newRequest("warm", templateImage())
	l.until("the first VM runs", isRunning(first), first)
	control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=700")
	req := newRequest("web", templateImage())
	req.Now = time.Now()
	if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch == nil {
		t.Fatalf("no create operation was started: %v", err)
	}
	eventually(t, "the clone is running", func() bool { return counted.snapshot()["CloneVM_Task"] == 2 })
	l.remove(req)
	control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=0")
	if vms := inVCenter(t, ready); len(vms) != 1 {
		t.Errorf("vCenter has %d VMs, want only the first one", len(vms))
	}
}
