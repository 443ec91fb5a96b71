// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
)

// holdStream keeps vCenter from answering the stream, so that the first read of the
// inventory does not end before the returned function is called.
const holdStream = "/hold?method=WaitForUpdatesEx"

// newcomer is a request for a VM that was made after the process began.
func newcomer(name string, image *vmv1alpha1.VirtualMachineImage) *provider.Request {
	req := newRequest(name, image)
	req.VM.CreationTimestamp = metav1.NewTime(began.Add(time.Minute))
	return req
}

// began is when the processes of these tests are alone.
var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestNewVirtualMachineIsMadeWhileTheInventoryIsRead(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	control(t, ready, http.MethodPut, holdStream)
	p, counted := startProvider(t, ready, func(c *settings) { c.Alone = began })
	l := newLoop(t, p)
	// A clone is awaited as a task, a deployment is not.
	reqs := []*provider.Request{newcomer("deployed", libraryImage()), newcomer("cloned", templateImage())}
	l.until("both run with an address", running(reqs...), reqs...)
	if p.inventory.Synced() {
		t.Fatal("the inventory was read: nothing is shown")
	}
	old := newRequest("old", libraryImage())
	old.VM.CreationTimestamp, old.Now = metav1.NewTime(began.Add(-time.Minute)), time.Now()
	if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), old); ch != nil || !errors.Is(err, provider.ErrUnknownState) {
		t.Errorf("pass over a VM that somebody may have made = %v, want ErrUnknownState", err)
	}
	if !p.Unread(old.VM) || p.Unread(reqs[0].VM) {
		t.Errorf("yet to be read: the old VM %v, the new one %v; want only the old one", p.Unread(old.VM), p.Unread(reqs[0].VM))
	}
	before := counted.snapshot()

	control(t, ready, http.MethodDelete, holdStream)
	l.until("the one that was waiting runs too", running(append(reqs, old)...), append(reqs, old)...)
	if p.Unread(old.VM) {
		t.Error("the inventory was read, and yet is to be read")
	}
	after := counted.snapshot()
	for method, want := range map[string]int{"rest.DeployLibraryItem": 1, "CloneVM_Task": 0, "PowerOnVM_Task": 1} {
		if got := after[method] - before[method]; got != want {
			t.Errorf("%d calls of %s after the inventory was read, want %d, those of the one that waited", got, method, want)
		}
	}
	if vms := inVCenter(t, ready); len(vms) != 3 {
		t.Errorf("vCenter has %d VMs, want 3", len(vms))
	}
}

// The stream may be lost before it has told of anything.
func TestNewVirtualMachineIsKeptWhenTheFirstReadBeginsAnew(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	control(t, ready, http.MethodPut, holdStream)
	p, counted := startProvider(t, ready, func(c *settings) { c.Alone = began })
	l := newLoop(t, p)
	first, second := newcomer("first", libraryImage()), newcomer("second", libraryImage())
	l.until("the first runs", running(first), first)
	control(t, ready, http.MethodPost, "/sessions/drop")
	l.until("the second runs", running(second), second)
	if p.inventory.Synced() {
		t.Fatal("the inventory was read: nothing is shown")
	}
	control(t, ready, http.MethodDelete, holdStream)
	eventually(t, "the inventory is read", p.inventory.Synced)
	l.until("both run", running(first, second), first, second)
	if got := counted.snapshot()["rest.DeployLibraryItem"]; got != 2 {
		t.Errorf("%d deployments of 2 VMs", got)
	}
	if vms := inVCenter(t, ready); len(vms) != 2 {
		t.Errorf("vCenter has %d VMs, want 2", len(vms))
	}
}

// A VM that was made while everything was read and is gone when the stream is there
// was never in the stream.
func TestVirtualMachineThatIsGoneBeforeTheInventoryIsReadIsNotKept(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	control(t, ready, http.MethodPut, holdStream)
	p, _ := startProvider(t, ready, func(c *settings) { c.Alone, c.MaxWait = began, 1 })
	l := newLoop(t, p)
	req := newcomer("web", libraryImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is there", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionCreated) }, req)
	first := req.VM.Status.UniqueID
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: first}
	if _, err := object.NewVirtualMachine(admin(t, ready).Client, ref).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the VM is destroyed", func() bool { return len(inVCenter(t, ready)) == 0 })
	control(t, ready, http.MethodDelete, holdStream)
	eventually(t, "the record is dropped", func() bool {
		return p.inventory.Synced() && p.inventory.Get(ref) == nil
	})
}

func TestManyNewVirtualMachinesAskForTheirPlacesOnce(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, func(c *settings) { c.Alone = began })
	l := newLoop(t, p)
	var reqs []*provider.Request
	for i := range 12 {
		reqs = append(reqs, newcomer(fmt.Sprintf("vm-%d", i), libraryImage()))
	}
	l.until("all run", running(reqs...), reqs...)
	for _, method := range []string{"rest.FindLibraryItem", "CreateFolder", "rest.Login"} {
		if got := counted.snapshot()[method]; got != 1 {
			t.Errorf("%d calls of %s for 12 new VMs at once, want 1", got, method)
		}
	}
}

// vCenter hands out an inventory in parts of 100 objects; several are under way at a time.
func TestInventoryOfManyPartsIsComplete(t *testing.T) {
	t.Parallel()
	const machines = 210
	ready := startVCenter(t)
	template, _ := makeVM(t, ready, "/DC0/vm/slipway", "vm")
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
		found := p.inventory.Find(inventory.Names{InstanceUUID: id})
		vm := found.VM
		if found.State != inventory.Exists {
			t.Fatalf("VM %d of %d is not in the inventory", i, machines)
		}
		if vm.Name == "" || vm.Config.Uuid == "" || len(vm.Config.Hardware.Device) == 0 || vm.Runtime.Host == nil || p.inventory.HostName(*vm.Runtime.Host) == "" {
			t.Errorf("the record of %s is not complete", vm.Name)
		}
	}
	if got := counted.snapshot()["RetrieveProperties"]; got > 20 {
		t.Errorf("%d calls of RetrieveProperties for %d VMs: their details are not read in common", got, machines)
	}
}
