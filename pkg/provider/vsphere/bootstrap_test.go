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

func TestLinuxPrep_CustomizesTheFirstBoot(t *testing.T) {
	t.Parallel()
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
			l.until("the VM runs", isRunning(req), req)
			checkNoOperation(t, p, req)
			var got *vimtypes.GuestInfo
			eventually(t, "the guest has booted", func() bool {
				got = guestOf(t, ready, req)
				return got.ToolsRunningStatus == string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsRunning)
			})
			if got.HostName != "host-"+name || got.IpAddress != "192.0.2.77" {
				t.Errorf("host name = %q, address = %q; want those of the customization", got.HostName, got.IpAddress)
			}
			if vm := p.record(req.VM.Status.UniqueID, req.VM.Status.InstanceUUID); observe.IsPending(vm) {
				t.Error("the VM is still marked as incomplete")
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

func TestVAppProperties_AreSetBeforePowerOn(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("vapp", templateImage())
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "secret"}}
	req.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"user": "admin", "hostname": "web"}}
	l.until("the VM runs", isRunning(req), req)
	req.Bootstrap = nil // Later reconciles do not read the Secret.
	checkNoOperation(t, p, req)
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

func TestCreate_CompletesAnInterruptedCreate(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("anew", templateImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	st := &req.VM.Status
	l.until("the VM is configured", func() bool { return reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded" }, req)
	first := st.UniqueID

	// This is the state if a process stops between the deployment and the bootstrap.
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
	eventually(t, "the inventory reports the create as incomplete", func() bool { return observe.IsPending(p.inventory.Get(ref)) })
	l.until("the create is completed", func() bool {
		return !observe.IsPending(p.inventory.Get(ref)) && isTrue(st, vmv1alpha1.ConditionCreated) && reason(st, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded"
	}, req)
	if st.UniqueID != first {
		t.Errorf("the VM is %s, want %s, which the interrupted create has created", st.UniqueID, first)
	}
}

func TestSysprep_CustomizesTheFirstBoot(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for name, sysprep := range map[string]*vmv1alpha1.SysprepBootstrap{
		"answers": {Answers: &vmv1alpha1.SysprepAnswers{FullName: "Me", Organization: "Us"}},
		"file":    {RawSysprep: &vmv1alpha1.SecretKeySelector{Name: "s"}},
	} {
		req := newRequest("win-"+name, libraryImage())
		req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: sysprep}
		req.Effective.Network.Interfaces[0].Addresses = []string{"192.0.2.77/24"}
		req.Bootstrap = &provider.BootstrapData{Sysprep: provider.SysprepData{Unattend: "<unattend/>"}}
		l.until("the VM runs", isRunning(req), req)
		req.Bootstrap = nil // Later reconciles do not read the Secret.
		checkNoOperation(t, p, req)
		eventually(t, "the guest is customized", func() bool {
			got := guestOf(t, ready, req)
			return got.ToolsRunningStatus == string(vimtypes.VirtualMachineToolsRunningStatusGuestToolsRunning) && got.IpAddress == "192.0.2.77"
		})
		if want := "win-" + name; name == "answers" && guestOf(t, ready, req).HostName != want {
			t.Errorf("host name = %q, want %q", guestOf(t, ready, req).HostName, want)
		}
	}
}

// extraOf returns the VM's extra configuration in vCenter.
func extraOf(t *testing.T, ready vcenter.Ready, vm string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range inVCenter(t, ready)[vm].Config.ExtraConfig {
		if value, ok := o.GetOptionValue().Value.(string); ok {
			out[o.GetOptionValue().Key] = value
		}
	}
	return out
}

func TestFirstBootData_IsRemovedAndSetAgainForANewInstance(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("once", templateImage())
	ci := &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s"}}
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: ci, RemoveAfterFirstBoot: true}
	req.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n"), VendorData: []byte("v")}
	st := &req.VM.Status
	removed := func() bool { return reason(st, vmv1alpha1.ConditionBootstrapDataRemoved) == "True Succeeded" }
	l.until("the VM runs", isRunning(req), req)
	first := extraOf(t, ready, "team-a/once")["guestinfo.metadata"]
	req.Bootstrap = nil
	l.until("the data is removed", removed, req)
	checkNoOperation(t, p, req)
	extra := extraOf(t, ready, "team-a/once")
	if extra["guestinfo.userdata"]+extra["guestinfo.vendordata"] != "" || extra["guestinfo.metadata"] != first {
		t.Errorf("vCenter has user data %q, vendor data %q, metadata %q; want only the metadata, unchanged", extra["guestinfo.userdata"], extra["guestinfo.vendordata"], extra["guestinfo.metadata"])
	}
	before := counted.snapshot()

	ci.InstanceID = "second"
	req.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n# again\n")}
	l.until("the new instance ID is set", func() bool { return st.Bootstrap != nil && st.Bootstrap.InstanceID == "second" }, req)
	req.Bootstrap = nil
	l.until("the bootstrap waits for the running guest", func() bool { return reason(st, vmv1alpha1.ConditionBootstrapDataRemoved) == "False InProgress" }, req)
	checkNoOperation(t, p, req)
	if extra := extraOf(t, ready, "team-a/once"); extra["guestinfo.userdata"] == "" || extra["guestinfo.metadata"] == first || extra["guestinfo.vendordata"] != "" {
		t.Errorf("vCenter has %q", extra)
	}
	after := counted.snapshot()
	for _, call := range []string{"PowerOffVM_Task", "ShutdownGuest", "ResetVM_Task", "RebootGuest", "PowerOnVM_Task"} {
		if after[call] != before[call] {
			t.Errorf("%s was called for data that the guest reads at its next boot", call)
		}
	}
	if _, err := object.NewVirtualMachine(admin(t, ready).Client, vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: st.UniqueID}).Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.until("the data is removed again", removed, req)
	if extra := extraOf(t, ready, "team-a/once"); extra["guestinfo.userdata"] != "" || extra["guestinfo.metadata"] == "" {
		t.Errorf("vCenter has %q", extra)
	}
}

func TestGuestNetworkSynced_ReportsAChangedAddressUntilCloudInitRunsAgain(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("ip", templateImage())
	ci := &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s"}}
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: ci}
	eth0 := &req.Effective.Network.Interfaces[0]
	eth0.Addresses = []string{"10.0.0.50/24"}
	req.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}
	st := &req.VM.Status
	synced := func() string {
		return reason(st, vmv1alpha1.ConditionGuestNetworkSynced) + " " + message(st, vmv1alpha1.ConditionGuestNetworkSynced)
	}
	l.until("the guest has its address", func() bool { return isRunning(req)() && st.Network.PrimaryIP4 == "10.0.0.50" }, req)
	req.Bootstrap = nil
	checkNoOperation(t, p, req)
	if got := synced(); got != "True Succeeded " {
		t.Errorf("GuestNetworkSynced = %s, want True", got)
	}

	eth0.Addresses = []string{"10.0.0.51/24"}
	const pending = "False NotApplied network.interfaces[eth0].addresses: the guest got 10.0.0.50/24 at its first boot, but the spec has 10.0.0.51/24; " +
		"to apply it, set another bootstrap.cloudInit.instanceID and restart the virtual machine"
	l.until("the change is reported", func() bool { return synced() == pending }, req)
	checkNoOperation(t, p, req)
	restart := func(done func() bool) {
		t.Helper()
		for _, state := range []vmv1alpha1.PowerState{vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOn} {
			req.VM.Spec.PowerState = state
			l.until("the VM is "+string(state), func() bool { return st.PowerState == state }, req)
		}
		l.until("the guest runs again", func() bool { return isRunning(req)() && done() }, req)
	}
	restart(func() bool { return st.Network.PrimaryIP4 == "10.0.0.50" })
	if got := synced(); got != pending {
		t.Errorf("after a power cycle GuestNetworkSynced = %s, want %s", got, pending)
	}

	ci.InstanceID = "two"
	req.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}
	l.until("the required restart is reported", func() bool {
		return synced() == "False RestartRequired bootstrap.cloudInit.instanceID: cloud-init runs with the instance ID two at the next boot: restart the virtual machine"
	}, req)
	req.Bootstrap = nil
	restart(func() bool { return st.Network.PrimaryIP4 == "10.0.0.51" && synced() == "True Succeeded " })
	checkNoOperation(t, p, req)
}

func TestIgnition_IsSetAndRemoved(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("coreos", templateImage())
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Ignition: &vmv1alpha1.IgnitionBootstrap{}}
	req.Bootstrap = &provider.BootstrapData{Ignition: []byte(`{"ignition":{"version":"3.4.0"}}`)}
	st := &req.VM.Status
	l.until("the VM runs", isRunning(req), req)
	req.Bootstrap = nil
	l.until("Tools run", func() bool { return isTrue(st, vmv1alpha1.ConditionGuestToolsReady) }, req)
	if extra := extraOf(t, ready, "team-a/coreos"); extra["guestinfo.ignition.config.data"] != "eyJpZ25pdGlvbiI6eyJ2ZXJzaW9uIjoiMy40LjAifX0=" || extra["guestinfo.ignition.config.data.encoding"] != "base64" {
		t.Errorf("vCenter has %q", extra)
	}
	if got := reason(st, vmv1alpha1.ConditionBootstrapDataRemoved); got != "" {
		t.Errorf("BootstrapDataRemoved = %q although removal is not requested", got)
	}
	req.Effective.Bootstrap.RemoveAfterFirstBoot = true
	l.until("the data is removed", func() bool { return reason(st, vmv1alpha1.ConditionBootstrapDataRemoved) == "True Succeeded" }, req)
	if extra := extraOf(t, ready, "team-a/coreos"); extra["guestinfo.ignition.config.data"] != "" {
		t.Errorf("vCenter has %q", extra)
	}
}
