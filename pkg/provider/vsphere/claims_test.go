// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// newFirstClassDisk creates a first class disk of 10 MiB and returns its ID. By default, vSphere deletes the
// disk together with the VM that it is attached to.
func newFirstClassDisk(t *testing.T, ready vcenter.Ready) string {
	t.Helper()
	c := admin(t, ready)
	ds := fcdDatastore(t, c)
	res, err := methods.CreateDisk_Task(t.Context(), c, &types.CreateDisk_Task{This: *c.ServiceContent.VStorageObjectManager, Spec: types.VslmCreateSpec{
		Name: "pvc", CapacityInMB: 10, KeepAfterDeleteVm: types.NewBool(false),
		BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds.Reference()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := object.NewTask(c.Client, res.Returnval).WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.Result.(types.VStorageObject).Config.Id.Id
}

func fcdDatastore(t *testing.T, c *govmomi.Client) *object.Datastore {
	t.Helper()
	ds, err := find.NewFinder(c.Client).Datastore(t.Context(), "/DC0/datastore/LocalDS_0")
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// attachedVMs fails the test if the disk does not exist. It returns the names of the VMs that
// the disk is attached to.
func attachedVMs(t *testing.T, ready vcenter.Ready, id string) (at []string) {
	t.Helper()
	c := admin(t, ready)
	ds := fcdDatastore(t, c)
	if _, err := ds.Stat(t.Context(), "fcd/"+id+"-flat.vmdk"); err != nil {
		t.Fatalf("the file of disk %s: %v", id, err)
	}
	if _, err := methods.RetrieveVStorageObject(t.Context(), c, &types.RetrieveVStorageObject{
		This: *c.ServiceContent.VStorageObjectManager, Id: types.ID{Id: id}, Datastore: ds.Reference()}); err != nil {
		t.Fatalf("the record of disk %s: %v", id, err)
	}
	for name, vm := range inVCenter(t, ready) {
		if vm.Config != nil && fcdDevice(vm.Config.Hardware.Device, id) != nil {
			at = append(at, strings.TrimPrefix(name, "team-a/"))
		}
	}
	slices.Sort(at)
	return at
}

func fcdDevice(devices []types.BaseVirtualDevice, id string) *types.VirtualDisk {
	for _, d := range devices {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id {
			return disk
		}
	}
	return nil
}

// addClaim adds a volume with a claim to a request.
func addClaim(req *provider.Request, volume string, claim provider.Claim) {
	req.Effective.Volumes = append(req.Effective.Volumes, vmv1alpha1.VirtualMachineVolume{
		Name: volume, PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: volume}})
	if req.Claims == nil {
		req.Claims = map[string]provider.Claim{}
	}
	req.Claims[volume] = claim
}

func removeClaims(req *provider.Request) { req.Effective.Volumes, req.Claims = nil, nil }

func TestClaim_KeepsItsDiskAfterTheDeletionOfTheVM(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"8.0.3.0", "9.1.0.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ready := startVCenter(t, withVersion(version))
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			id := newFirstClassDisk(t, ready)
			claim := provider.Claim{VolumeID: id, Size: 10 << 20}
			req, next := newRequest("web", templateImage()), newRequest("db", templateImage())
			addClaim(req, "data", claim)
			control(t, ready, http.MethodPut, "/hold?method=CnsAttachVolume")
			l.until("the VM is synchronized", func() bool {
				return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "False InProgress"
			}, req)
			eventually(t, "the disk is being attached", func() bool { return counted.snapshot()["CnsAttachVolume"] > 0 })
			if n := counted.snapshot()["PowerOnVM_Task"]; n != 0 {
				t.Errorf("PowerOnVM_Task was called %d times before the disk was attached", n)
			}
			control(t, ready, http.MethodDelete, "/hold?method=CnsAttachVolume")
			l.until("the VM runs", isRunning(req), req)
			checkNoOperation(t, p, req)
			want := vmv1alpha1.VirtualMachineVolumeStatus{Name: "data", Attached: true, ClaimName: "data", VolumeID: id}
			got := req.VM.Status.Volumes[0]
			if got.DiskUUID == "" || got.DeviceKey == 0 || got.Capacity == nil || got.Capacity.Value() != 10<<20 {
				t.Errorf("status.volumes[0] is %+v", got)
			}
			got.DiskUUID, got.Capacity, got.DeviceKey = "", nil, 0
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status.volumes[0] (-want +got):\n%s", diff)
			}
			if got := attachedVMs(t, ready, id); !slices.Equal(got, []string{"web"}) {
				t.Errorf("the disk is attached to %q", got)
			}

			// The volume is extended and then removed while the VM runs.
			req.Claims["data"] = provider.Claim{VolumeID: id, Size: 20 << 20}
			l.until("the disk has grown", func() bool { return req.VM.Status.Volumes[0].Capacity.Value() == 20<<20 }, req)
			checkNoOperation(t, p, req)
			removeClaims(req)
			l.until("the disk is detached", func() bool { return len(req.VM.Status.Volumes) == 0 && isRunning(req)() }, req)
			checkNoOperation(t, p, req)
			if got := attachedVMs(t, ready, id); len(got) != 0 || req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
				t.Errorf("the disk is attached to %q, the VM is %s", got, req.VM.Status.PowerState)
			}

			// Another VM attaches the disk and is deleted.
			addClaim(next, "data", claim)
			l.until("the other VM runs", isRunning(next), next)
			if got := attachedVMs(t, ready, id); !slices.Equal(got, []string{"db"}) {
				t.Errorf("the disk is attached to %q", got)
			}
			l.remove(next)
			if got := attachedVMs(t, ready, id); len(got) != 0 || exists(t, ready, string(next.VM.UID)) {
				t.Errorf("the disk is attached to %q", got)
			}
			addClaim(req, "again", claim)
			l.until("the disk can be attached again", func() bool {
				return len(req.VM.Status.Volumes) == 1 && req.VM.Status.Volumes[0].Attached
			}, req)
		})
	}
}

// New versions of vCenter accept a controller and a unit number. The same versions do not refuse to
// attach an unshared disk to a second VM, so the provider must refuse it.
func TestClaim_IsAttachedAtItsUnitNumberByNewVersions(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t, withVersion("9.1.0.0"))
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	shared, own := newFirstClassDisk(t, ready), newFirstClassDisk(t, ready)
	one, two := newRequest("one", templateImage()), newRequest("two", templateImage())
	for _, req := range []*provider.Request{one, two} {
		addClaim(req, "shared", provider.Claim{VolumeID: shared, Shared: true})
		req.Effective.Volumes[0].Bus = "nvme"
	}
	addClaim(one, "own", provider.Claim{VolumeID: own})
	l.until("both VMs run", isRunning(one, two), one, two)
	for _, req := range []*provider.Request{one, two} {
		vm := inVCenter(t, ready)["team-a/"+req.VM.Name]
		disk := fcdDevice(vm.Config.Hardware.Device, shared)
		b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if b.Sharing != string(types.VirtualDiskSharingSharingMultiWriter) || b.DiskMode != string(types.VirtualDiskModeIndependent_persistent) {
			t.Errorf("%s has the disk with sharing %q and mode %q", req.VM.Name, b.Sharing, b.DiskMode)
		}
		controller := object.VirtualDeviceList(vm.Config.Hardware.Device).FindByKey(disk.ControllerKey)
		if _, ok := controller.(*types.VirtualNVMEController); !ok || *disk.UnitNumber != 0 {
			t.Errorf("%s has the disk at unit %d of a %T", req.VM.Name, *disk.UnitNumber, controller)
		}
	}
	addClaim(two, "stolen", provider.Claim{VolumeID: own})
	l.until("the attachment is refused", func() bool {
		return strings.Contains(message(&two.VM.Status, vmv1alpha1.ConditionConfigurationSynced), "disk "+own+" is attached to a vSphere VM")
	}, two)
	if got := attachedVMs(t, ready, own); !slices.Equal(got, []string{"one"}) {
		t.Errorf("the disk is attached to %q", got)
	}
}

func TestReadOnlyClaim_IsAttachedNonpersistent(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	id := newFirstClassDisk(t, ready)
	req := newRequest("web", templateImage())
	addClaim(req, "data", provider.Claim{VolumeID: id, ReadOnly: true})
	l.until("the VM runs", isRunning(req), req)
	disk := fcdDevice(inVCenter(t, ready)["team-a/web"].Config.Hardware.Device, id)
	if mode := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).DiskMode; mode != string(types.VirtualDiskModeIndependent_nonpersistent) {
		t.Errorf("the VM runs with the disk in mode %q", mode)
	}
	req.Claims["data"] = provider.Claim{VolumeID: id}
	l.until("the mode is reported as pending", func() bool { return len(req.VM.Status.RestartRequired) == 1 }, req)
	if got := req.VM.Status.RestartRequired[0].Path; got != "volumes[data].persistentVolumeClaim.readOnly" {
		t.Errorf("a restart is required for %s", got)
	}
}

// A condition reports the fault of a disk, and the VM is not powered on without the disk. The
// operation is retried until it succeeds.
func TestClaim_ReportsFaultsAndRetries(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ call, fault, wantMessage string }{
		{"CnsAttachVolume", "ResourceInUse", "is attached to a vSphere VM: detach it from that VM first"},
		{"CnsAttachVolume", "NotFound", "NotFound"},
		{"CnsAttachVolume", "NoPermission", "NoPermission"},
		{"CnsAttachVolume", "InvalidState", "InvalidState"},
		{"CnsAttachVolume", "TaskInProgress", "TaskInProgress"},
		{"CnsAttachVolume", "NotSupported", "NotSupported"},
		{"CnsAttachVolume", "FileLocked", "FileLocked"},
		{"CnsAttachVolume", "InvalidDatastore", "InvalidDatastore"},
		{"CnsAttachVolume", "HostCommunication", "HostCommunication"},
		{"CnsAttachVolume", "CnsFault", "VSLM task failed"},
		{"CnsAttachVolume", "CnsNotRegisteredFault", "CnsNotRegisteredFault"},
		{"CnsExtendVolume", "NoDiskSpace", "NoDiskSpace"},
		{"CnsDetachVolume", "CnsFault", "VSLM task failed"},
	} {
		name := strings.ToLower(tc.call[3:] + "-" + tc.fault)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := startVCenter(t)
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			id := newFirstClassDisk(t, ready)
			req := newRequest("web", templateImage())
			faultURL := "/volumes/fault?method=" + tc.call
			fail := func() { control(t, ready, http.MethodPut, faultURL+"&fault="+tc.fault) }
			reported := func() bool {
				st := &req.VM.Status
				return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "False Error" && strings.Contains(message(st, vmv1alpha1.ConditionConfigurationSynced), tc.wantMessage) &&
					strings.Contains(message(st, vmv1alpha1.ConditionConfigurationSynced), id)
			}
			addClaim(req, "data", provider.Claim{VolumeID: id})
			if tc.call == "CnsAttachVolume" {
				fail()
				l.until("the fault is reported", reported, req)
				if req.VM.Status.PowerState != vmv1alpha1.PoweredOff {
					t.Errorf("the VM is %s without its disk", req.VM.Status.PowerState)
				}
				control(t, ready, http.MethodDelete, faultURL)
				l.until("the VM runs", isRunning(req), req)
				return
			}
			l.until("the VM runs", isRunning(req), req)
			fail()
			if tc.call == "CnsExtendVolume" {
				req.Claims["data"] = provider.Claim{VolumeID: id, Size: 30 << 20}
			} else {
				removeClaims(req)
			}
			l.until("the fault is reported", reported, req)
			control(t, ready, http.MethodDelete, faultURL)
			l.until("the VM is synchronized", isRunning(req), req)
			if got := attachedVMs(t, ready, id); (len(got) == 1) != (tc.call == "CnsExtendVolume") {
				t.Errorf("the disk is attached to %q", got)
			}
		})
	}
}

// A VM is not destroyed if its disks are unknown, or if the disk of a claim cannot be detached.
func TestClaim_PreventsTheDestructionOfTheVMWithItsDisk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cause, undo func(t *testing.T, ready vcenter.Ready, vm string)
		// refused is true if the VM is not destroyed until undo is called.
		refused, unreadable bool
	}{
		"the service refuses, and a reconfiguration detaches": {
			cause: func(t *testing.T, ready vcenter.Ready, _ string) {
				control(t, ready, http.MethodPut, "/volumes/fault?method=CnsDetachVolume&fault=CnsNotRegisteredFault")
			},
		},
		"both refuse": {refused: true,
			cause: func(t *testing.T, ready vcenter.Ready, vm string) {
				control(t, ready, http.MethodPut, "/volumes/fault?method=CnsDetachVolume&fault=CnsFault")
				control(t, ready, http.MethodPut, "/vm/disabled?vm="+vm+"&methods=ReconfigVM_Task")
			},
			undo: func(t *testing.T, ready vcenter.Ready, vm string) {
				control(t, ready, http.MethodPut, "/vm/disabled?vm="+vm)
			},
		},
		"its devices cannot be read": {refused: true, unreadable: true,
			cause: func(t *testing.T, ready vcenter.Ready, vm string) {
				control(t, ready, http.MethodPost, "/vm/hide?vm="+vm+"&state=inaccessible")
			},
			undo: func(t *testing.T, ready vcenter.Ready, vm string) {
				control(t, ready, http.MethodPost, "/vm/show?vm="+vm)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ready := startVCenter(t)
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			id := newFirstClassDisk(t, ready)
			req := newRequest("web", templateImage())
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			addClaim(req, "data", provider.Claim{VolumeID: id})
			l.until("the disk is attached", func() bool { return len(req.VM.Status.Volumes) == 1 && req.VM.Status.Volumes[0].Attached }, req)
			vm := req.VM.Status.UniqueID
			tc.cause(t, ready, vm)
			ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: vm}
			if tc.unreadable {
				eventually(t, "the VM is unreadable", func() bool { return observe.Trouble(p.inventory.Get(ref)) != "" })
			}
			if tc.refused {
				deleteUntilRefused(t, l, req)
				if n := counted.snapshot()["Destroy_Task"]; n != 0 {
					t.Errorf("Destroy_Task was called %d times", n)
				}
				tc.undo(t, ready, vm)
				eventually(t, "the VM can be read", func() bool { return observe.Trouble(p.inventory.Get(ref)) == "" })
			}
			l.remove(req)
			if got := attachedVMs(t, ready, id); len(got) != 0 || exists(t, ready, string(req.VM.UID)) {
				t.Errorf("the disk is attached to %q", got)
			}
		})
	}
}

// deleteUntilRefused deletes until the deletion reports a reason or waits.
func deleteUntilRefused(t *testing.T, l *loop, req *provider.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for {
		req.Now = time.Now()
		err := l.p.DeleteVirtualMachine(ctx, req)
		if after, ok := provider.AsRequeue(err); provider.IsNoRequeue(err) || ok && after > 0 {
			return
		}
		if err == nil || !errors.Is(err, provider.ErrReconcileInProgress) && !errors.Is(err, provider.ErrUnknownState) {
			t.Fatalf("the deletion ended with %v", err)
		}
		if !l.wait(ctx, time.Second) {
			t.Fatal("timed out waiting for the refusal of the deletion")
		}
	}
}

func TestClaim_PreventsPowerOnUntilItIsAttached(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	id := newFirstClassDisk(t, ready)
	req := newRequest("web", templateImage())
	const why = `PersistentVolumeClaim "data" is held by VirtualMachine "db"`
	addClaim(req, "data", provider.Claim{VolumeID: id, Waiting: why})
	l.until("the power-on waits", func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) == "False WaitingForPrerequisites"
	}, req)
	if got := message(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced); got != "waiting for volumes[data] to be attached" {
		t.Errorf("the message of PowerStateSynced is %q", got)
	}
	if got := req.VM.Status.Volumes[0]; got.Attached || got.Error != why {
		t.Errorf("status.volumes[0] is %+v", got)
	}
	checkNoOperation(t, p, req)
	if n := counted.snapshot()["PowerOnVM_Task"] + counted.snapshot()["CnsAttachVolume"]; n != 0 {
		t.Errorf("PowerOnVM_Task and CnsAttachVolume were called %d times", n)
	}
	req.Claims["data"] = provider.Claim{VolumeID: id}
	l.until("the VM runs", isRunning(req), req)
}
