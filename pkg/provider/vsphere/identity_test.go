// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// The object has lost its status, and a create starts while the VM is unregistered. The create fails after the
// VM is registered again with the same identity. The VM must not be deleted.
func TestCreate_KeepsAForeignVMWhenItFails(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("db", templateImage())
	l.until("the VM runs", isRunning(req), req)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	id := req.VM.Status.UniqueID
	path := strings.Trim(ask(t, ready, http.MethodPost, "/vm/unregister?vm="+id), "\"\n")
	l.until("the VM is missing", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionCreated) == "Unknown Missing" }, req)

	req.VM.Status = vmv1alpha1.VirtualMachineStatus{}
	control(t, ready, http.MethodPut, "/hold?method=CloneVM_Task")
	before := counted.snapshot()
	req.Now = time.Now()
	ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if ch == nil {
		t.Fatalf("no create operation was started: %v", err)
	}
	eventually(t, "a clone is requested", func() bool { return counted.snapshot()["CloneVM_Task"] > before["CloneVM_Task"] })
	control(t, ready, http.MethodPost, "/vm/register?folder=/DC0/vm/slipway/team-a&path="+url.QueryEscape(path))
	control(t, ready, http.MethodPut, "/permissions?entity=/DC0/vm/templates&without=VirtualMachine.Provisioning.DeployTemplate")
	control(t, ready, http.MethodDelete, "/hold?method=CloneVM_Task")
	if err := <-ch; err == nil {
		t.Fatal("the clone succeeded")
	}
	if n := counted.snapshot()["Destroy_Task"] - before["Destroy_Task"]; n != 0 {
		t.Errorf("Destroy_Task was called %d times, but the VM with the data must be kept", n)
	}
	control(t, ready, http.MethodDelete, "/permissions?entity=/DC0/vm/templates")
	l.until("the VM is managed again", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionCreated) }, req)
	if vms := vmsOf(t, ready); len(vms) != 1 {
		t.Errorf("vCenter has %d VMs, want 1: %+v", len(vms), vms)
	}
}

func TestRecreate_RequiresTheObjectsPolicy(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	waiting, recreated := newRequest("waits", templateImage()), newRequest("again", templateImage())
	recreated.VM.Spec.WhenMissing = vmv1alpha1.WhenMissingRecreate
	l.until("both VMs run", isRunning(waiting, recreated), waiting, recreated)
	for _, req := range []*provider.Request{waiting, recreated} {
		vm := object.NewVirtualMachine(admin(t, ready).Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
		task, err := vm.PowerOff(t.Context())
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err == nil {
			task, err = vm.Destroy(t.Context())
		}
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := recreated.VM.Status.UniqueID
	l.until("one VM waits and the other is recreated", func() bool {
		return reason(&waiting.VM.Status, vmv1alpha1.ConditionCreated) == "Unknown Missing" &&
			recreated.VM.Status.UniqueID != first && isRunning(recreated)()
	}, waiting, recreated)
	if vms := vmsOf(t, ready); len(vms) != 1 {
		t.Errorf("vCenter has %d VMs, want only the recreated one", len(vms))
	}
}

// A restart of vCenter discards the clone task, which may have been carried out.
func TestClone_IsCreatedOnceWhenItsTaskIsLost(t *testing.T) {
	for name, tasks := range map[string]string{"not carried out": "end", "carried out": "continue"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := startVCenter(t)
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			eventually(t, "the inventory is read", p.inventory.Synced)
			control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=5000")
			req := newRequest("web", templateImage())
			req.Now = time.Now()
			if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch == nil {
				t.Fatalf("no create operation was started: %v", err)
			}
			eventually(t, "a clone is requested", func() bool { return counted.snapshot()["CloneVM_Task"] == 1 })
			control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=0")
			control(t, ready, http.MethodPost, "/restart?tasks="+tasks)
			l.until("the VM runs", isRunning(req), req)
			if vms := vmsOf(t, ready); len(vms) != 1 || vms[0].InstanceUUID != string(req.VM.UID) {
				t.Errorf("vCenter has %+v, want one VM of the object", vms)
			}
		})
	}
}

// vCenter completes the requested clones, and the next process finds them.
func TestShutdown_DoesNotCancelClones(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	counted := &calls{}
	p := newProvider(t, settings{Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", OnCall: counted.count, MaxWait: 5,
	}})
	stop := run(t, p)
	eventually(t, "the inventory is read", p.inventory.Synced)
	control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=8000")
	var reqs []*provider.Request
	for n := range 4 {
		req := newRequest(fmt.Sprintf("vm-%d", n), templateImage())
		req.Now = time.Now()
		reqs = append(reqs, req)
		if _, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all clones are requested", func() bool { return counted.snapshot()["CloneVM_Task"] == 4 })
	stop()
	if n := counted.snapshot()["CancelTask"]; n != 0 {
		t.Errorf("CancelTask was called %d times", n)
	}
	control(t, ready, http.MethodPut, "/taskdelay?method=CloneVm&ms=0")
	for _, req := range reqs {
		req.VM.Status = vmv1alpha1.VirtualMachineStatus{}
	}
	next, _ := startProvider(t, ready, nil)
	newLoop(t, next).until("all VMs run", isRunning(reqs...), reqs...)
	if vms := vmsOf(t, ready); len(vms) != 4 {
		t.Errorf("vCenter has %d VMs, want 4", len(vms))
	}
}

// vSphere has created the VMs, but the process ended before it received the responses.
func TestShutdown_KeepsCreatedVMsWithoutAResponse(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p := newProvider(t, settings{Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5,
	}})
	stop := run(t, p)
	eventually(t, "the inventory is read", p.inventory.Synced)
	reqs := []*provider.Request{newRequest("item", libraryImage()), newRequest("template", templateImage())}
	holds := []string{"/hold?method=answer.rest.Deploy", "/hold?method=answer.CloneVM_Task"}
	for i, req := range reqs {
		control(t, ready, http.MethodPut, holds[i])
		req.Now = time.Now()
		if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch == nil {
			t.Fatalf("no create operation was started: %v", err)
		}
	}
	eventually(t, "both VMs are created", func() bool { return len(vmsOf(t, ready)) == 2 })
	made := vmsOf(t, ready)
	stop()
	for _, hold := range holds {
		control(t, ready, http.MethodDelete, hold)
	}
	if diff := cmp.Diff(made, vmsOf(t, ready)); diff != "" {
		t.Errorf("the end of the process changed the VMs (-before +after):\n%s", diff)
	}
}
