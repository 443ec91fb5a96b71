// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// machineOf returns the VM of an object in an administrator's session.
func machineOf(t *testing.T, ready vcenter.Ready, req *provider.Request) *object.VirtualMachine {
	t.Helper()
	return object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
}

// restoreCopy creates a VM in a folder with the settings of the object's VM, like a backup product,
// a replication or an administrator.
func restoreCopy(t *testing.T, ready vcenter.Ready, req *provider.Request, folder, name string, owned bool) *object.VirtualMachine {
	t.Helper()
	var extra []types.BaseOptionValue
	if owned {
		extra = append(extra, &types.OptionValue{Key: observe.OwnerKey, Value: observe.Owner{Key: keyOf(req), UID: string(req.VM.UID)}.String()})
	}
	vm, _ := createVM(t, ready, folder, name, extra...)
	return vm
}

// copyProperties returns the properties of a copy that must not change.
func copyProperties(t *testing.T, vm *object.VirtualMachine) map[string]string {
	t.Helper()
	var now mo.VirtualMachine
	err := vm.Properties(t.Context(), vm.Reference(), []string{"name", "config.instanceUuid", "config.uuid", "config.changeVersion", "runtime.powerState"}, &now)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"name": now.Name, "instance UUID": now.Config.InstanceUuid, "BIOS UUID": now.Config.Uuid,
		"version": now.Config.ChangeVersion, "power": string(now.Runtime.PowerState)}
}

// createdCondition returns the status, the reason and the message of the Created condition.
func createdCondition(req *provider.Request) (condition, message string) {
	c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}

// A backup product keeps the BIOS UUID of a VM that it restores under another name. A replica may keep the
// instance UUID, because its settings are in the copied .vmx file.
func TestCopyOfAVM_IsReportedAndNotChanged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		folder         string
		owned          bool
		bios, instance bool
	}{
		"restored into another folder":        {folder: "/DC0/vm/lab", owned: true, bios: true},
		"restored next to the VM":             {folder: "/DC0/vm/slipway", owned: true, bios: true},
		"cloned with its settings":            {folder: "/DC0/vm/slipway", owned: true},
		"a replica with the instance UUID":    {folder: "/DC0/vm/slipway", instance: true},
		"a replica with its settings as well": {folder: "/DC0/vm/slipway", owned: true, bios: true, instance: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			ready := startVCenter(t)
			root, err := find.NewFinder(admin(t, ready).Client).Folder(t.Context(), "/DC0/vm")
			if err == nil {
				_, err = root.CreateFolder(t.Context(), "lab")
			}
			if err != nil {
				t.Fatal(err)
			}
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("web", templateImage())
			l.until("the VM runs", isRunning(req), req)
			first := req.VM.Status.UniqueID
			restored := restoreCopy(t, ready, req, tc.folder, "web-restored", tc.owned)
			if tc.bios {
				reconfigure(t, restored, types.VirtualMachineConfigSpec{Uuid: req.VM.Status.BiosUUID})
			}
			path := strings.Trim(ask(t, ready, http.MethodPost, "/vm/unregister?vm="+first), "\"\n")
			if tc.instance {
				reconfigure(t, restored, types.VirtualMachineConfigSpec{InstanceUuid: string(req.VM.UID)})
			}
			before, calls := copyProperties(t, restored), counted.snapshot()
			l.until("the copy is reported", func() bool { c, _ := createdCondition(req); return c == "Unknown CopyFound" }, req)
			if _, message := createdCondition(req); !strings.Contains(message, restored.Reference().Value) || req.VM.Status.UniqueID != first {
				t.Errorf("message %q, uniqueID %s; want the copy %s in the message, and uniqueID %s", message, req.VM.Status.UniqueID, restored.Reference().Value, first)
			}
			if owned := p.driver.Owned(); tc.owned && (len(owned) != 1 || owned[0].UniqueID != restored.Reference().Value) {
				t.Errorf("VMs with an owner mark: %+v, want the copy: only those are reported as orphans", owned)
			}
			if !tc.instance { // if the copy has the instance UUID, vCenter gives the VM a new one when it is registered
				control(t, ready, http.MethodPost, "/vm/register?folder=/DC0/vm/slipway/team-a&path="+url.QueryEscape(path))
				l.until("the VM is found again", func() bool { c, _ := createdCondition(req); return c == "True Succeeded" && isRunning(req)() }, req)
				if id := req.VM.Status.UniqueID; id == first || id == restored.Reference().Value {
					t.Errorf("the VM is %s; want the VM that was registered again, not %s and not the copy", id, first)
				}
				l.remove(req)
			}
			if diff := cmp.Diff(before, copyProperties(t, restored)); diff != "" {
				t.Errorf("the copy was changed (-before +after):\n%s", diff)
			}
			if n := counted.snapshot()["CloneVM_Task"] - calls["CloneVM_Task"]; n != 0 {
				t.Errorf("%d VMs were created", n)
			}
		})
	}
}

// The VM keeps running while its host is not in the inventory.
func TestCopyOfAVM_IsNotChangedWhileTheHostOfTheVMIsRemoved(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	first := req.VM.Status.UniqueID
	v := &victim{t: t, vm: machineOf(t, ready, req)}
	restored := restoreCopy(t, ready, req, "/DC0/vm/slipway", "web-restored", true)
	reconfigure(t, restored, types.VirtualMachineConfigSpec{Uuid: req.VM.Status.BiosUUID})
	host := v.host()
	v.moveToOtherHost(restored, host)
	before := copyProperties(t, restored)
	control(t, ready, http.MethodPost, "/host/remove?host="+host.Name())
	l.until("the copy is reported", func() bool { c, _ := createdCondition(req); return c == "Unknown CopyFound" }, req)
	control(t, ready, http.MethodPost, "/host/add?ids=same&host="+host.Name())
	l.until("the VM is found again", func() bool { c, _ := createdCondition(req); return c == "True Succeeded" && isRunning(req)() }, req)
	if diff := cmp.Diff(before, copyProperties(t, restored)); diff != "" || req.VM.Status.UniqueID != first {
		t.Errorf("the VM is %s, want %s; the copy (-before +after):\n%s", req.VM.Status.UniqueID, first, diff)
	}
}

// A VM keeps running if its host is removed, if it is unregistered, or if it moves to another vCenter.
func TestRecreate_NeedsAConfirmationOrADestroyTask(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event     func(*victim)
		elsewhere bool
		// want is the Created condition. created is the number of VMs that are created before a confirmation.
		want    string
		created int
	}{
		"its host is removed": {want: "Unknown Missing", event: func(v *victim) {
			templates, err := find.NewFinder(v.vm.Client()).VirtualMachineList(v.t.Context(), "/DC0/vm/templates/*")
			if err != nil {
				v.t.Fatal(err)
			}
			for _, template := range templates {
				v.moveToOtherHost(template, v.host())
			}
			v.event(http.MethodPost, "/host/remove?host="+v.host().Name())
		}},
		"it is unregistered": {want: "Unknown Missing", event: func(v *victim) { v.event(http.MethodPost, "/vm/unregister?vm=%s") }},
		"it is destroyed": {want: "True Succeeded", created: 1, event: func(v *victim) {
			v.powerOff()
			v.await(v.vm.Destroy(t.Context()))
		}},
		"another vCenter has it": {want: "Unknown CopyFound", elsewhere: true, event: func(v *victim) {
			v.powerOff()
			v.await(v.vm.Destroy(t.Context()))
		}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			ready := startVCenter(t)
			p, counted := startProvider(t, ready, func(s *settings) {
				if tc.elsewhere {
					s.FindElsewhere = anotherVCenter(t)
				}
			})
			l := newLoop(t, p)
			req := newRequest("web", templateImage())
			l.until("the VM runs", isRunning(req), req)
			first := req.VM.Status.UniqueID
			v := &victim{t: t, ready: ready, p: p, l: l, req: req, vm: machineOf(t, ready, req)}
			before := counted.snapshot()["CloneVM_Task"]
			tc.event(v)
			p.driver.inventory.Rebuild()
			req.VM.Spec.WhenMissing = vmv1alpha1.WhenMissingRecreate
			// A reconcile may still power on the old VM before it observes the deletion, so wait for a VM with another ID.
			l.until("Created is "+tc.want, func() bool {
				c, message := createdCondition(req)
				return c == tc.want && (tc.created == 0 && !strings.Contains(message, "if it does not reappear within") || isRunning(req)() && req.VM.Status.UniqueID != first)
			}, req)
			if n := counted.snapshot()["CloneVM_Task"] - before; n != tc.created {
				t.Errorf("%d VMs were created, want %d", n, tc.created)
			}
			if tc.want != "Unknown Missing" {
				return
			}
			req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: first}
			l.until("the VM is recreated after the confirmation", func() bool { return isRunning(req)() && req.VM.Status.UniqueID != first }, req)
			if n := counted.snapshot()["CloneVM_Task"] - before; n != 1 {
				t.Errorf("%d VMs were created after the confirmation, want 1", n)
			}
		})
	}
}

// anotherVCenter returns the search function of another vCenter. It finds every VM, as if the VM was moved
// there.
func anotherVCenter(t *testing.T) func(context.Context, driver.Identity) (string, error) {
	t.Helper()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	return func(ctx context.Context, id driver.Identity) (string, error) {
		req := newRequest(id.Key.Name, nil)
		req.VM.UID = k8stypes.UID(id.UID)
		if p.inventory.CountOwners() == 0 {
			moved := restoreCopy(t, ready, req, "/DC0/vm/slipway", "web", true)
			reconfigure(t, moved, types.VirtualMachineConfigSpec{Uuid: id.BiosUUID})
		}
		return p.driver.FindMigrated(ctx, id)
	}
}

// A directory with a VM's disks but without its .vmx file looks like the leftover of a failed create.
func TestLeftovers_DoNotIncludeTheDisksOfAMissingVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := fastRequest("web", vmv1alpha1.FastDeployDirect, cacheOf(f))
	l.until("the VM runs", isRunning(req), req)
	control(t, ready, http.MethodPost, "/vm/unregister?vm="+req.VM.Status.UniqueID)
	dir := string(req.VM.UID)
	task, err := object.NewFileManager(f.ds.Client()).DeleteDatastoreFile(t.Context(), "[LocalDS_0] "+dir+"/web.vmx", f.dc)
	f.do(err)
	f.do(task.Wait(t.Context()))
	before := f.list(dir)
	req.VM.DeletionTimestamp = new(metav1.Now())
	l.remove(req)
	if diff := cmp.Diff(before, f.list(dir)); diff != "" || len(before) == 0 {
		t.Errorf("files of the VM (-before +after):\n%s", diff)
	}
}

// The times of tasks cannot be used if the clock difference exceeds the tolerance.
func TestDeletion_WaitsWhileTheClocksAreTooFarApart(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	for ahead, wait := range map[string]string{"6m": "6m0s ahead of the server's clock", "-6m": "6m0s behind the server's clock", "4m": "", "-4m": ""} {
		control(t, ready, http.MethodPut, "/clock?ahead="+ahead)
		req := newRequest("web", templateImage())
		req.VM.DeletionTimestamp = new(metav1.Now())
		l := newLoop(t, p)
		if wait == "" {
			l.remove(req)
			continue
		}
		eventually(t, "the deletion reports the reason for the wait", func() bool {
			_ = p.DeleteVirtualMachine(t.Context(), req)
			_, message := createdCondition(req)
			return strings.Contains(message, wait)
		})
		if warning := p.driver.SkewWarning(t.Context()); !strings.Contains(warning, wait) {
			t.Errorf("warning %q, want %q", warning, wait)
		}
		control(t, ready, http.MethodPut, "/clock?ahead=0s")
		l.remove(req)
	}
}
