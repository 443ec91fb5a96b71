// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// inVCenter returns the VMs of vCenter. The key is the last two elements of the VM's path.
func inVCenter(t *testing.T, ready vcenter.Ready) map[string]mo.VirtualMachine {
	t.Helper()
	c := admin(t, ready)
	v, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := v.Retrieve(t.Context(), []string{"VirtualMachine"}, []string{"name", "parent", "config", "runtime.powerState"}, &vms); err != nil {
		t.Fatal(err)
	}
	out := map[string]mo.VirtualMachine{}
	for _, vm := range vms {
		if vm.Config.Template {
			continue
		}
		var parent mo.Folder
		if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), *vm.Parent, []string{"name"}, &parent); err != nil {
			t.Fatal(err)
		}
		key := parent.Name + "/" + vm.Name
		if _, dup := out[key]; dup {
			t.Errorf("vCenter has two VMs at %s", key)
		}
		out[key] = vm
	}
	return out
}

func TestVirtualMachine_Lifecycle(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("web-"+name, image)
			l.until("the VM runs with an address", isRunning(req), req)

			st := &req.VM.Status
			if st.InstanceUUID != string(req.VM.UID) || st.UniqueID == "" || st.BiosUUID == "" || st.NodeName == "" {
				t.Errorf("identity = %q %q %q on %q, want the object's UID and the others set", st.InstanceUUID, st.UniqueID, st.BiosUUID, st.NodeName)
			}
			if got := st.Network.Interfaces[0].Name; got != "eth0" {
				t.Errorf("interface name = %q, want eth0", got)
			}
			vm, ok := inVCenter(t, ready)["team-a/web-"+name]
			if !ok {
				t.Fatal("vCenter has no VM at the deterministic path")
			}
			if vm.Config.Hardware.NumCPU != 2 || vm.Config.Hardware.MemoryMB != 1024 {
				t.Errorf("size = %d CPUs, %d MB; want 2, 1024", vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB)
			}

			checkSteady(t, p, l, counted, req)
			resize(t, l, req)
			restart(t, l, req)

			req.VM.Spec.PowerState = vmv1alpha1.Suspended
			l.until("the VM is suspended", func() bool {
				return st.PowerState == vmv1alpha1.Suspended && isTrue(st, vmv1alpha1.ConditionPowerStateSynced)
			}, req)
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			l.until("the VM is off", func() bool {
				return st.PowerState == vmv1alpha1.PoweredOff && isTrue(st, vmv1alpha1.ConditionPowerStateSynced)
			}, req)
			if st.Network != nil && st.Network.PrimaryIP4 != "" {
				t.Errorf("a powered-off VM reports address %s", st.Network.PrimaryIP4)
			}

			l.remove(req)
			if _, ok := inVCenter(t, ready)["team-a/web-"+name]; ok {
				t.Error("the deleted VM is still in vCenter")
			}
			l.remove(req) // Deleting a missing VM succeeds.
		})
	}
}

// checkSteady checks that a reconcile of a synchronized VM does not call vCenter.
func checkSteady(t *testing.T, p *Provider, l *loop, counted *calls, req *provider.Request) {
	t.Helper()
	before := counted.snapshot()
	statusBefore := req.VM.Status.DeepCopy()
	for range 100 {
		req.Now = time.Now()
		ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		if ch != nil || err != nil {
			t.Fatalf("the reconcile started an operation or failed: %v", err)
		}
	}
	if diff := cmp.Diff(before, counted.snapshot()); diff != "" {
		t.Errorf("100 reconciles called vCenter (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(statusBefore, &req.VM.Status); diff != "" {
		t.Errorf("a reconcile changed the status (-before +after):\n%s", diff)
	}

	// A full read must not find changes that the stream has missed.
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
	if vm, err := p.inventory.Refresh(t.Context(), ref); vm == nil || err != nil {
		t.Fatalf("reading the VM again: %v, %v", vm, err)
	}
	if ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch != nil || err != nil {
		t.Fatalf("the reconcile after the read started an operation or failed: %v", err)
	}
	if diff := cmp.Diff(statusBefore, &req.VM.Status); diff != "" {
		t.Errorf("reading the VM again changed the status (-before +after):\n%s", diff)
	}
}

// resize checks that a size above the limits of hot add requires a power cycle.
func resize(t *testing.T, l *loop, req *provider.Request) {
	t.Helper()
	req.Effective.CPU.Sockets = 4
	req.Effective.Memory.Guest = ptr(resource.MustParse("2Gi"))
	req.Effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	st := &req.VM.Status
	l.until("the shares are applied and the size requires a restart", func() bool {
		return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "False RestartRequired"
	}, req)
	want := []vmv1alpha1.RestartRequirement{
		{Path: "cpu.sockets", Running: "2", Desired: "4"},
		{Path: "memory.guest", Running: "1Gi", Desired: "2Gi"},
	}
	if diff := cmp.Diff(want, st.RestartRequired); diff != "" {
		t.Errorf("restartRequired (-want +got):\n%s", diff)
	}
}

// restart checks that a requested restart happens once and applies pending changes.
func restart(t *testing.T, l *loop, req *provider.Request) {
	t.Helper()
	req.VM.Spec.RestartMode = vmv1alpha1.PowerOpModeHard
	req.VM.Spec.NextRestartTime = time.Now().UTC().Format(time.RFC3339Nano)
	st := &req.VM.Status
	l.until("the VM was restarted", func() bool {
		return st.LastRestartTime != nil && len(st.RestartRequired) == 0 && isRunning(req)()
	}, req)
	ch, err := l.p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if ch != nil || err != nil {
		t.Errorf("a reconcile after the restart started an operation or failed: %v", err)
	}
	vm := l.p.record(st.UniqueID, st.InstanceUUID)
	if vm.Config.Hardware.NumCPU != 4 || vm.Config.Hardware.MemoryMB != 2048 {
		t.Errorf("after the restart the VM has %d CPUs and %d MB, want 4 and 2048", vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB)
	}
}
