// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/simulated"
)

// vCenter continues the operations of a killed process. A VM that is created after the deletion of its object
// would have no owner.
func TestDeletion_WaitsForTasksOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"deployment": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			ready := simulated.StartAlone(t)
			first := newProvider(t, settings{Config: Config{
				URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
				Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5,
			}})
			stop := run(t, first)
			eventually(t, "the inventory is read", first.inventory.Synced)
			control(t, ready, http.MethodPut, "/taskdelay?method=CreateVm&ms=3000")
			control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=3000")
			req := newRequest("web", image)
			req.Now = time.Now()
			if ch, err := first.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch == nil {
				t.Fatalf("no create was started: %v", err)
			}
			// A request that has not started a task ends with its connection.
			eventually(t, "vCenter runs the task", func() bool { return strings.Contains(ask(t, ready, http.MethodGet, "/tasks"), `"running"`) })
			go stop()
			control(t, ready, http.MethodPost, "/outage?seconds=1") // A killed process loses its connections.

			second, _ := startProvider(t, ready, nil)
			eventually(t, "the inventory is read", second.inventory.Synced)
			req.VM.DeletionTimestamp = new(metav1.Now())
			newLoop(t, second).remove(req)
			later := newRequest("later", image)
			newLoop(t, second).until("another VM runs", isRunning(later), later)
			if vms := vmsOf(t, ready); len(vms) != 1 {
				t.Errorf("vCenter has %d VMs, want only the later one: %+v", len(vms), vms)
			}
		})
	}
}

// A process that is killed after it has destroyed a VM does not delete the object. Many such objects must not
// trip the circuit breaker for mass disappearance.
func TestDeletion_EndsImmediatelyIfVCenterReportsThatTheVMWasDestroyed(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	longGrace := func(s *settings) { s.MissingGrace = 24 * time.Hour }
	first, _ := startProvider(t, ready, longGrace)
	var reqs []*provider.Request
	for i := range 7 {
		req := newRequest(fmt.Sprintf("web-%d", i), templateImage())
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		reqs = append(reqs, req)
	}
	newLoop(t, first).until("all VMs exist", func() bool {
		return !slices.ContainsFunc(reqs, func(r *provider.Request) bool { return !isTrue(&r.VM.Status, vmv1alpha1.ConditionCreated) })
	}, reqs...)
	for _, req := range reqs {
		ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
		task, err := object.NewVirtualMachine(admin(t, ready).Client, ref).Destroy(t.Context())
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The list of recent tasks is short.
	other := newRequest("other", templateImage())
	newLoop(t, first).until("another VM exists", isRunning(other), other)
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: other.VM.Status.UniqueID}
	for i := range 210 {
		task, err := object.NewVirtualMachine(admin(t, ready).Client, ref).Reconfigure(t.Context(), vimtypes.VirtualMachineConfigSpec{Annotation: strconv.Itoa(i)})
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	second, _ := startProvider(t, ready, longGrace)
	eventually(t, "the inventory is read", second.inventory.Synced)
	for _, req := range reqs {
		req.VM.DeletionTimestamp = new(metav1.Now())
		newLoop(t, second).remove(req)
	}
}
