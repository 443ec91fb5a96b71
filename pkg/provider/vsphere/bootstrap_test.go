// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestLinuxPrepCustomizesTheFirstStart(t *testing.T) {
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("prep-"+name, image)
			req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{TimeZone: "Europe/Berlin"}}
			req.Effective.Network.HostName = "host-" + name
			req.Effective.Network.Interfaces[0].Addresses = []string{"192.0.2.77/24"}
			req.Effective.Network.Interfaces[0].Gateway4 = "192.0.2.1"
			l.until("the VM runs", running(req), req)
			nothingToDo(t, p, req)
			var got *vimtypes.GuestInfo
			eventually(t, "the guest has booted", func() bool {
				got = guestOf(t, ready, req)
				return got.ToolsRunningStatus == string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsRunning)
			})
			if got.HostName != "host-"+name || got.IpAddress != "192.0.2.77" {
				t.Errorf("host name = %q, address = %q; want those of the customization", got.HostName, got.IpAddress)
			}
			if vm := p.record(req.VM.Status.UniqueID, req.VM.Status.InstanceUUID); observe.Pending(vm) {
				t.Error("the VM is still marked as not finished")
			}
		})
	}
}

func guestOf(t *testing.T, ready vcenter.Ready, req *provider.Request) *vimtypes.GuestInfo {
	t.Helper()
	var vm mo.VirtualMachine
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
	if err := property.DefaultCollector(admin(t, ready).Client).RetrieveOne(t.Context(), ref, []string{"guest"}, &vm); err != nil {
		t.Fatal(err)
	}
	return vm.Guest
}

func TestVAppPropertiesAreSetBeforePowerOn(t *testing.T) {
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("vapp", templateImage())
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "secret"}}
	req.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"user": "admin", "hostname": "web"}}
	l.until("the VM runs", running(req), req)
	req.Bootstrap = nil // Later passes read no Secret.
	nothingToDo(t, p, req)
	config := inVCenter(t, ready)["team-a/vapp"].Config
	if config.VAppConfig == nil {
		t.Fatal("the VM has no vApp configuration")
	}
	got := map[string]string{}
	for _, property := range config.VAppConfig.GetVmConfigInfo().Property {
		got[property.Id] = property.Value
	}
	if diff := cmp.Diff(map[string]string{"user": "admin", "hostname": "web"}, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

func TestAnInterruptedCreateIsFinishedAndNotMadeAnew(t *testing.T) {
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("anew", templateImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	st := &req.VM.Status
	l.until("the VM is there", func() bool { return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded" }, req)
	first := st.UniqueID

	// As a process leaves it that dies between deployment and bootstrap.
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: first}
	task, err := object.NewVirtualMachine(admin(t, ready).Client, ref).Reconfigure(t.Context(), vimtypes.VirtualMachineConfigSpec{
		ExtraConfig: []vimtypes.BaseOptionValue{&vimtypes.OptionValue{Key: observe.PendingKey, Value: "attempt"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the provider sees the mark", func() bool { return observe.Pending(p.inventory.Get(ref)) })
	l.until("the create is finished", func() bool {
		return !observe.Pending(p.inventory.Get(ref)) && isTrue(st, vmv1alpha1.ConditionCreated) && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
	if st.UniqueID != first {
		t.Errorf("the VM is %s, want %s, the one that the interrupted create has made", st.UniqueID, first)
	}
}
