// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// A backup proxy has disks of other VMs attached. An administrator may also have attached such a disk.
func TestDestroy_KeepsDisksOfOtherVMs(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	proxy, other := newRequest("proxy", templateImage()), newRequest("db", templateImage())
	proxy.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
	other.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("both VMs exist", func() bool {
		return isRunning(proxy)() && isTrue(&other.VM.Status, vmv1alpha1.ConditionPowerStateSynced)
	}, proxy, other)
	c := admin(t, ready)
	ds, err := find.NewFinder(c.Client).Datastore(t.Context(), "/DC0/datastore/LocalDS_0")
	if err != nil {
		t.Fatal(err)
	}
	vmOf := func(id string) (*object.VirtualMachine, object.VirtualDeviceList) {
		vm := object.NewVirtualMachine(c.Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: id})
		devices, err := vm.Device(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return vm, devices
	}
	filesOf := func(devices object.VirtualDeviceList) (files []string) {
		for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
			backing := d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			files = append(files, strings.TrimPrefix(backing.FileName, "[LocalDS_0] "))
		}
		return files
	}
	isPresent := func(file string) bool {
		_, err := ds.Stat(t.Context(), file)
		return err == nil
	}
	_, devices := vmOf(other.VM.Status.UniqueID)
	otherFile := filesOf(devices)[0]
	vm, devices := vmOf(proxy.VM.Status.UniqueID)
	own := filesOf(devices)
	controller, err := devices.FindDiskController("")
	if err != nil {
		t.Fatal(err)
	}
	hotAdded := devices.CreateDisk(controller, ds.Reference(), "[LocalDS_0] "+otherFile)
	hotAdded.CapacityInKB = 0
	if err := vm.AddDevice(t.Context(), hotAdded); err != nil {
		t.Fatal(err)
	}
	if !isPresent(otherFile) || len(own) != 2 || !isPresent(own[0]) || !isPresent(own[1]) {
		t.Fatalf("the disks %s and %v are not in the expected directories", otherFile, own)
	}
	l.remove(proxy)
	if !isPresent(otherFile) {
		t.Errorf("the disk %s of the other VM was deleted", otherFile)
	}
	for _, file := range own {
		if isPresent(file) {
			t.Errorf("the disk %s of the deleted VM still exists", file)
		}
	}
}

// A restart of vCenter discards its tasks, and a lost task may have been carried out. Only the VM shows
// whether it was destroyed.
func TestDestroy_IsCompleteWhenTheVMDoesNotExist(t *testing.T) {
	for name, tasks := range map[string]string{"not carried out": "end", "carried out": "continue"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := startVCenter(t)
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("web", templateImage())
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			l.until("the VM is off", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) }, req)
			control(t, ready, http.MethodPut, "/taskdelay?method=Destroy_Task&ms=5000")
			req.Now = time.Now()
			if err := p.DeleteVirtualMachine(t.Context(), req); !errors.Is(err, provider.ErrReconcileInProgress) {
				t.Fatal(err)
			}
			eventually(t, "the VM is being destroyed", func() bool { return counted.snapshot()["Destroy_Task"] > 0 })
			control(t, ready, http.MethodPut, "/taskdelay?method=Destroy_Task&ms=0")
			control(t, ready, http.MethodPost, "/restart?tasks="+tasks)
			l.remove(req)
			if exists(t, ready, string(req.VM.UID)) {
				t.Error("the object was deleted, but its VM still exists")
			}
		})
	}
}
