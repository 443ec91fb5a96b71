// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// createVM creates a VM in folder, as an administrator would. It returns the VM and its instance UUID.
func createVM(t *testing.T, ready vcenter.Ready, folder, name string, extra ...types.BaseOptionValue) (*object.VirtualMachine, string) {
	t.Helper()
	c := admin(t, ready)
	f := find.NewFinder(c.Client)
	template, err := f.VirtualMachine(t.Context(), "/DC0/vm/templates/"+vcenter.Template)
	if err != nil {
		t.Fatal(err)
	}
	to, err := f.Folder(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := f.ResourcePool(t.Context(), "/DC0/host/DC0_C0/Resources")
	if err != nil {
		t.Fatal(err)
	}
	id, ref := uuid.NewString(), pool.Reference()
	task, err := template.Clone(t.Context(), to, name, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &ref},
		Config:   &types.VirtualMachineConfigSpec{InstanceUuid: id, ExtraConfig: extra},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := task.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return object.NewVirtualMachine(c.Client, res.Result.(types.ManagedObjectReference)), id
}

// exists reports whether vCenter still has the VM.
func exists(t *testing.T, ready vcenter.Ready, id string) bool {
	t.Helper()
	instance := true
	ref, err := object.NewSearchIndex(admin(t, ready).Client).FindByUuid(t.Context(), nil, id, true, &instance)
	if err != nil {
		t.Fatal(err)
	}
	return ref != nil
}

func TestAdoption_MakesTheObjectTheOwner(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	_, id := createVM(t, ready, "/DC0/vm/slipway", "manual")
	req := newRequest("adopted", libraryImage())
	req.VM.Spec.InstanceUUID = id
	l.until("the VM is adopted and runs", isRunning(req), req)
	vm := p.record(req.VM.Status.UniqueID, id)
	if o, ok := observe.OwnerOf(vm); !ok || o.UID != string(req.VM.UID) || o.Key != keyOf(req) {
		t.Errorf("owner = %+v, want the adopting object", o)
	}
	if n := counted.snapshot()["CloneVM_Task"] + counted.snapshot()["rest.DeployLibraryItem"]; n != 0 {
		t.Errorf("%d VMs were created instead", n)
	}
	l.remove(req)
	if exists(t, ready, id) {
		t.Error("the adopted VM was not deleted with its object")
	}
}

func TestDeletion_KeepsAVMWithoutTheOwnerKey(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	_, inside := createVM(t, ready, "/DC0/vm/slipway", "inside")
	_, outside := createVM(t, ready, "/DC0/vm", "outside")
	_, others := createVM(t, ready, "/DC0/vm/slipway", "others", &types.OptionValue{Key: observe.OwnerKey, Value: "team-b/db/another"})
	eventually(t, "the inventory is read", p.inventory.Synced)
	for _, id := range []string{inside, outside, others} {
		req := newRequest("never-made", libraryImage())
		req.VM.Spec.InstanceUUID = id
		l.remove(req) // The object has never adopted the VM.
		if !exists(t, ready, id) {
			t.Error("a VM without the object's owner key was destroyed")
		}
	}
	if n := counted.snapshot()["Destroy_Task"] + counted.snapshot()["PowerOffVM_Task"]; n != 0 {
		t.Errorf("Destroy_Task and PowerOffVM_Task were called %d times", n)
	}
}

func TestAdoption_RefusesAVMOutsideOfTheManagedFolder(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	vm, id := createVM(t, ready, "/DC0/vm", "outside")
	req := newRequest("adopted", libraryImage())
	req.VM.Spec.InstanceUUID = id
	l.until("the conflict is reported", func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionCreated) == "False Error"
	}, req)
	c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if !strings.Contains(c.Message, "/DC0/vm/slipway") || req.VM.Status.UniqueID != "" {
		t.Errorf("Created = %q, uniqueID %q; want the managed folder in the message, and no uniqueID", c.Message, req.VM.Status.UniqueID)
	}
	moveToManagedFolder(t, vm)
	l.until("the moved VM runs", isRunning(req), req)
}

// moveToManagedFolder moves the VM to the managed folder.
func moveToManagedFolder(t *testing.T, vm *object.VirtualMachine) {
	t.Helper()
	folder, err := find.NewFinder(vm.Client()).Folder(t.Context(), "/DC0/vm/slipway")
	if err != nil {
		t.Fatal(err)
	}
	task, err := folder.MoveInto(t.Context(), []types.ManagedObjectReference{vm.Reference()})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Adoption does not require an image.
func TestAdoption_WaitsForTheVMWithoutAnImage(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	vm, id := createVM(t, ready, "/DC0/vm", "outside")
	req := newRequest("adopted", nil)
	req.VM.Spec.InstanceUUID, req.PrerequisitesReady = id, false
	eventually(t, "the inventory is read", p.inventory.Synced)
	if after := reconcileAt(t, p, req, time.Now()); after <= 0 || after > time.Minute {
		t.Errorf("requeued after %s, want at most a minute", after)
	}
	c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c == nil || !strings.Contains(c.Message, "or for a vSphere VM with instance UUID "+id) {
		t.Errorf("Created = %+v, want a message that it waits for the VM", c)
	}
	moveToManagedFolder(t, vm)
	eventually(t, "the inventory has the VM", func() bool { found := p.record("", id); return found != nil })
	l.until("the moved VM runs", isRunning(req), req)
}

// vCenter may complete only a part of a create. Then the VM has the object's UUID, but no owner key.
func TestCreate_CompletesAVMWithoutTheOwnerKey(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	newPartial := func(name string) *provider.Request {
		req := newRequest(name, libraryImage())
		l.until(name+" runs", isRunning(req), req)
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		l.until(name+" is off", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) }, req)
		ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
		if err := p.driver.actor.Reconfigure(t.Context(), ref, types.VirtualMachineConfigSpec{
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: ""}},
		}); err != nil {
			t.Fatal(err)
		}
		req.VM.Status = vmv1alpha1.VirtualMachineStatus{}
		return req
	}
	again, deleted := newPartial("again"), newPartial("gone")
	again.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	l.until("the repeated create has completed the VM", isRunning(again), again)
	vm := p.record("", string(again.VM.UID))
	if o, ok := observe.OwnerOf(vm); !ok || o.UID != string(again.VM.UID) {
		t.Errorf("owner = %+v, want the object", o)
	}
	deleted.Now = time.Now()
	l.remove(deleted)
	if exists(t, ready, string(deleted.VM.UID)) {
		t.Error("the VM was not deleted")
	}
}
