// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
)

// holdStream is the control request that blocks the responses of the stream, so that the first read of the
// inventory does not end.
const holdStream = "/hold?method=WaitForUpdatesEx"

func TestCreate_WaitsUntilTheInventoryIsRead(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	control(t, ready, http.MethodPut, holdStream)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch != nil || !errors.Is(err, provider.ErrUnknownState) {
		t.Errorf("create = %v, want ErrUnknownState and no operation", err)
	}
	c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != vmv1alpha1.ReasonUnknownState || c.Message != "the inventory of vCenter is being read" {
		t.Errorf("Created is %+v, want Unknown while the inventory is being read", c)
	}
	if !p.IsUnread(req.VM) {
		t.Error("IsUnread = false before the inventory is read")
	}
	if got := counted.snapshot()["rest.DeployLibraryItem"]; got != 0 {
		t.Errorf("%d deployments before the inventory is read", got)
	}

	control(t, ready, http.MethodDelete, holdStream)
	l.until("the VM runs", isRunning(req), req)
	if vms := inVCenter(t, ready); len(vms) != 1 {
		t.Errorf("vCenter has %d VMs, want 1", len(vms))
	}
}

func TestCreate_ResolvesObjectsOnceForManyVMs(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	var reqs []*provider.Request
	for i := range 12 {
		reqs = append(reqs, newRequest(fmt.Sprintf("vm-%d", i), libraryImage()))
	}
	l.until("all VMs run", isRunning(reqs...), reqs...)
	for _, method := range []string{"rest.FindLibraryItem", "CreateFolder", "rest.Login"} {
		if got := counted.snapshot()[method]; got != 1 {
			t.Errorf("%d calls of %s for 12 concurrent creates, want 1", got, method)
		}
	}
}

// vCenter returns the inventory in pages of 100 objects. Several pages are in transit at a time.
func TestInventory_IsCompleteAfterManyPages(t *testing.T) {
	t.Parallel()
	const machines = 210
	ready := startVCenter(t)
	template, _ := createVM(t, ready, "/DC0/vm/slipway", "vm")
	folder, err := find.NewFinder(template.Client()).Folder(t.Context(), "/DC0/vm/slipway")
	if err != nil {
		t.Fatal(err)
	}
	ids, clones := make([]string, machines), make([]*object.Task, machines)
	for i := range ids {
		ids[i] = uuid.NewString()
		clones[i], err = template.Clone(t.Context(), folder, fmt.Sprintf("vm-%03d", i), vimtypes.VirtualMachineCloneSpec{
			Config: &vimtypes.VirtualMachineConfigSpec{InstanceUuid: ids[i]},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, clone := range clones {
		if err := clone.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p, counted := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	for i, id := range ids {
		found := p.inventory.Find(inventory.Identifiers{InstanceUUID: id})
		vm := found.VM
		if found.State != inventory.Exists {
			t.Fatalf("VM %d of %d is not in the inventory", i, machines)
		}
		if vm.Name == "" || vm.Config.Uuid == "" || len(vm.Config.Hardware.Device) == 0 || vm.Runtime.Host == nil || p.inventory.HostName(*vm.Runtime.Host) == "" {
			t.Errorf("the state of %s is incomplete", vm.Name)
		}
	}
	if got := counted.snapshot()["RetrieveProperties"]; got > 20 {
		t.Errorf("%d calls of RetrieveProperties for %d VMs, want only the stream", got, machines)
	}
}
