// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestValidateVirtualMachineUpdate(t *testing.T) {
	const uuid, other = "420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0d", "420f3c1a-6f5b-4b8e-9d1c-2f6a7e8b9c0e"
	identified := func(change func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
		return inlineVM(func(obj *vmv1alpha1.VirtualMachine) {
			obj.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: uuid}
			obj.Spec.InstanceUUID, obj.Spec.ProviderID = uuid, "vsphere://"+uuid
			change(obj)
		})
	}
	same := func(*vmv1alpha1.VirtualMachine) {}
	for _, tc := range []struct {
		name     string
		old, new *vmv1alpha1.VirtualMachine
		want     []string
	}{
		{"nothing", identified(same), identified(same), nil},
		{"the size", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.CPU.Sockets = 4 }), nil},
		{"the image", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Image.Name = "ubuntu" }), []string{"Invalid spec.image"}},
		{"the image, by removing it", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Image = nil }), []string{"Invalid spec.image"}},
		{"the image, to a snapshot", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Image.Kind, o.Spec.Image.Snapshot = "VirtualMachine", "a" }), []string{"Invalid spec.image"}},
		{"the image, to the virtual machine itself", inlineVM(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Image = nil }), inlineVM(func(o *vmv1alpha1.VirtualMachine) {
			o.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachine", Name: o.Name}
		}), []string{"Invalid spec.image.name"}},
		{"the image, if it was unset", inlineVM(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Image = nil }), inlineVM(nil), nil},
		{"the firmware UUID", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Firmware.UUID = other }), []string{"Invalid spec.firmware.uuid"}},
		{"the firmware UUID, by removing the firmware", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Firmware = nil }), []string{"Invalid spec.firmware.uuid"}},
		{"the firmware UUID, if it was unset", inlineVM(nil), inlineVM(func(o *vmv1alpha1.VirtualMachine) { o.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: uuid} }), nil},
		{"the instance UUID", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.InstanceUUID = other }), []string{"Invalid spec.instanceUUID"}},
		{"the instance UUID, if it was unset", inlineVM(nil), inlineVM(func(o *vmv1alpha1.VirtualMachine) { o.Spec.InstanceUUID = uuid }), []string{"Invalid spec.instanceUUID"}},
		{"the provider ID", identified(same), identified(func(o *vmv1alpha1.VirtualMachine) { o.Spec.ProviderID = "vsphere://x" }), []string{"Invalid spec.providerID"}},
		{"the provider ID, if it was unset", inlineVM(nil), inlineVM(func(o *vmv1alpha1.VirtualMachine) { o.Spec.ProviderID = "vsphere://x" }), nil},
		{"the name of a pinned preference",
			inlineVM(func(o *vmv1alpha1.VirtualMachine) {
				o.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "a", RevisionName: "r"}
			}),
			inlineVM(func(o *vmv1alpha1.VirtualMachine) {
				o.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "b", RevisionName: "r"}
			}),
			[]string{"Invalid spec.preference.revisionName"}},
		{"labels with a spec that newer rules reject",
			inlineVM(func(o *vmv1alpha1.VirtualMachine) { o.Spec.CPU.Sockets = -1 }),
			inlineVM(func(o *vmv1alpha1.VirtualMachine) {
				o.Spec.CPU.Sockets = -1
				o.Labels = map[string]string{"a": "b"}
			}), nil},
	} {
		t.Run("changing "+tc.name, func(t *testing.T) {
			check(t, tc.want, ValidateVirtualMachineUpdate(tc.new, tc.old))
		})
	}
}

func TestValidateVirtualMachineStatusUpdate(t *testing.T) {
	old := inlineVM(nil)
	obj := inlineVM(func(o *vmv1alpha1.VirtualMachine) {
		o.Status.PowerState, o.Status.Phase = vmv1alpha1.PoweredOn, vmv1alpha1.PhaseRunning
		o.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}}
	})
	check(t, nil, ValidateVirtualMachineStatusUpdate(obj, old))

	obj.Status.PowerState, obj.Status.Phase, obj.Status.Conditions[0].Reason = "On", "Well", ""
	check(t, []string{"NotSupported status.powerState", "NotSupported status.phase", "Required status.conditions[0].reason"},
		ValidateVirtualMachineStatusUpdate(obj, old))
}

func TestValidateVirtualMachineStatusUpdate_RejectsLongOrUnprintableGuestText(t *testing.T) {
	old := inlineVM(nil)
	obj := inlineVM(func(o *vmv1alpha1.VirtualMachine) {
		o.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{HostName: strings.Repeat("a", 254)}
		o.Status.Guest = &vmv1alpha1.VirtualMachineGuestStatus{HostName: "a\x1b[31m", GuestFullName: "a\u202eb"}
	})
	check(t, []string{"TooLong status.network.hostName", "Invalid status.guest.guestFullName", "Invalid status.guest.hostName"}, ValidateVirtualMachineStatusUpdate(obj, old))
	check(t, nil, ValidateVirtualMachineStatusUpdate(obj, obj)) // stored before the limit existed

	instance := &vmv1alpha1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "dev", ResourceVersion: "1"}}
	reported := instance.DeepCopy()
	reported.Status.Guest = obj.Status.Guest
	check(t, []string{"Invalid status.guest.guestFullName", "Invalid status.guest.hostName"}, ValidateVirtualMachineInstanceStatusUpdate(reported, instance))
}

func TestValidateClassesAndImages(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "x", Namespace: "dev", ResourceVersion: "1"}
	class := &vmv1alpha1.VirtualMachineClass{ObjectMeta: meta, Spec: vmv1alpha1.VirtualMachineClassSpec{
		CPU: vmv1alpha1.VirtualMachineCPU{Cores: 2}, Memory: vmv1alpha1.VirtualMachineMemory{Guest: quantity("2Gi")},
	}}
	check(t, nil, ValidateVirtualMachineClass(class))
	check(t, []string{"Required spec.cpu", "Required spec.memory.guest"}, ValidateVirtualMachineClass(&vmv1alpha1.VirtualMachineClass{ObjectMeta: meta}))

	item := &vmv1alpha1.VirtualMachineImage{ObjectMeta: meta, Spec: vmv1alpha1.VirtualMachineImageSpec{
		ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"},
	}}
	template := &vmv1alpha1.VirtualMachineImage{ObjectMeta: meta, Spec: vmv1alpha1.VirtualMachineImageSpec{
		Template: &vmv1alpha1.TemplateImageSource{InventoryPath: "templates/ubuntu-24.04"},
	}}
	both := &vmv1alpha1.VirtualMachineImage{ObjectMeta: meta, Spec: vmv1alpha1.VirtualMachineImageSpec{
		ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{}, Template: template.Spec.Template,
	}}
	check(t, nil, ValidateVirtualMachineImage(item))
	check(t, nil, ValidateVirtualMachineImage(template))
	check(t, []string{"Required spec"}, ValidateVirtualMachineImage(&vmv1alpha1.VirtualMachineImage{ObjectMeta: meta}))
	check(t, []string{"Required spec.contentLibrary.library", "Required spec.contentLibrary.item", "Invalid spec"}, ValidateVirtualMachineImage(both))
	check(t, nil, ValidateVirtualMachineImageUpdate(item, item.DeepCopy()))
	check(t, []string{"Invalid spec"}, ValidateVirtualMachineImageUpdate(template, item))

	cluster := &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "1"}, Spec: item.Spec}
	check(t, nil, ValidateClusterVirtualMachineImage(cluster))
	check(t, []string{"Forbidden metadata.namespace"}, ValidateClusterVirtualMachineImage(&vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: meta, Spec: item.Spec}))
	check(t, []string{"Required spec"}, ValidateClusterVirtualMachineImage(&vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: cluster.ObjectMeta}))
	check(t, nil, ValidateClusterVirtualMachineImageUpdate(cluster, cluster.DeepCopy()))
	check(t, []string{"Invalid spec"}, ValidateClusterVirtualMachineImageUpdate(&vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: cluster.ObjectMeta, Spec: template.Spec}, cluster))
}

func TestValidateVirtualMachineInstance(t *testing.T) {
	obj := &vmv1alpha1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "dev", ResourceVersion: "1"}}
	check(t, nil, ValidateVirtualMachineInstance(obj))
	broken := obj.DeepCopy()
	broken.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: -1}
	check(t, []string{"Invalid spec.cpu.sockets"}, ValidateVirtualMachineInstanceUpdate(broken, obj))

	// The author of a spec does not know the addresses that a pool assigns, or their family.
	given := obj.DeepCopy()
	given.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{
		Name: "eth0", DHCP4: ptr.To(true), Addresses: []string{"2001:db8::5/64", "192.0.2.5/24", "2001:db8::5/64"},
		AddressesFromPools: []vmv1alpha1.IPPoolReference{{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "front"}},
	}}}
	check(t, nil, ValidateVirtualMachineInstance(given))
	given.Spec.Network.Interfaces[0].Name = ""
	check(t, []string{"Required spec.network.interfaces[0].name"}, ValidateVirtualMachineInstance(given))
}

func TestValidateSubresourceBodies(t *testing.T) {
	named := metav1.ObjectMeta{Name: "web"}
	check(t, nil, ValidateRefreshOptions(&vmv1alpha1.RefreshOptions{}, "web"))
	check(t, nil, ValidateRefreshOptions(&vmv1alpha1.RefreshOptions{ObjectMeta: named, DryRun: []string{"All"}}, "web"))
	check(t, []string{"Invalid metadata.name"}, ValidateRefreshOptions(&vmv1alpha1.RefreshOptions{ObjectMeta: named}, "db"))
	check(t, []string{"NotSupported dryRun"}, ValidateRefreshOptions(&vmv1alpha1.RefreshOptions{DryRun: []string{"Some"}}, "web"))
	check(t, nil, ValidatePowerOptions(&vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}, "stop", "web"))
	check(t, []string{"NotSupported mode"}, ValidatePowerOptions(&vmv1alpha1.PowerOptions{Mode: "Gentle"}, "stop", "web"))
	check(t, []string{"Invalid mode"}, ValidatePowerOptions(&vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}, "start", "web"))
	check(t, nil, ValidateExpandOptions(&vmv1alpha1.ExpandOptions{Generation: "latest"}))
	check(t, []string{"NotSupported generation"}, ValidateExpandOptions(&vmv1alpha1.ExpandOptions{Generation: "newest"}))
}

func TestVirtualMachineWarnings(t *testing.T) {
	path := field.NewPath("spec")
	if got := VirtualMachineWarnings(inlineSpec(func(*vmv1alpha1.VirtualMachineSpec) {}), path); len(got) != 0 {
		t.Errorf("a minimal virtual machine has warnings: %q", got)
	}
	spec := inlineSpec(func(s *vmv1alpha1.VirtualMachineSpec) {
		s.Preference = &vmv1alpha1.PreferenceMatcher{Name: "a", RevisionName: "r"}
		s.CPU.Model = "host"
		s.Devices = &vmv1alpha1.VirtualMachineDevices{Video: &vmv1alpha1.VirtualMachineVideo{Type: "vga"}, TPM: &vmv1alpha1.VirtualMachineTPM{Persistent: ptr.To(false)}}
	})
	want := []string{
		"spec.preference.revisionName: deprecated; use controllerRevisionRef",
		"spec.cpu.model: has no effect on vSphere; the value is stored but not applied",
		"spec.devices.video.type: vSphere supports only svga; other types are stored but not applied",
		"spec.devices.tpm.persistent: vSphere always preserves the TPM state; false is stored but not applied",
	}
	if diff := cmp.Diff(want, VirtualMachineWarnings(spec, path)); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}
