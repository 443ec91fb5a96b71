// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
)

func adapter(key int32) *types.VirtualVmxnet3 {
	nic := &types.VirtualVmxnet3{}
	nic.Key = key
	return nic
}

func TestClone_HasNoAdapterAndNoTPMOfItsTemplate(t *testing.T) {
	added := []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: adapter(-100)}}
	for _, tc := range []struct {
		name    string
		devices []types.BaseVirtualDevice
		network *vmv1alpha1.VirtualMachineNetworkSpec
		added   []types.BaseVirtualDeviceConfigSpec
		changes []string
		policy  string
	}{
		{name: "adapters", devices: []types.BaseVirtualDevice{adapter(4001), adapter(4000)}, network: &vmv1alpha1.VirtualMachineNetworkSpec{}, added: added,
			changes: []string{"remove 4000", "remove 4001", "add -100"}},
		{name: "no network", devices: []types.BaseVirtualDevice{adapter(4000)}, network: &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}, changes: []string{"remove 4000"}},
		{name: "a default network", devices: []types.BaseVirtualDevice{adapter(4000)}},
		{name: "a TPM", devices: []types.BaseVirtualDevice{&types.VirtualTPM{}}, policy: "replace"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template := &mo.VirtualMachine{}
			template.Config = &types.VirtualMachineConfigInfo{Hardware: types.VirtualHardware{Device: tc.devices}}
			want := configspec.Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Network: tc.network}}}}
			got := cloneSpec(template, want, &placement.Report{}, types.ManagedObjectReference{}, types.VirtualMachineConfigSpec{Name: "web", DeviceChange: tc.added})
			var changes []string
			for _, c := range got.Config.DeviceChange {
				change := c.GetVirtualDeviceConfigSpec()
				changes = append(changes, fmt.Sprintf("%s %d", change.Operation, change.Device.GetVirtualDevice().Key))
			}
			if diff := cmp.Diff(tc.changes, changes); diff != "" {
				t.Errorf("device changes (-want +got):\n%s", diff)
			}
			if got.TpmProvisionPolicy != tc.policy {
				t.Errorf("TPM: %q, want %q", got.TpmProvisionPolicy, tc.policy)
			}
		})
	}
}

func TestDeployment_ProvisionsDisksAsInTheSpecOrThin(t *testing.T) {
	rep := &placement.Report{Datastore: types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}}
	for provisioning, wanted := range map[vmv1alpha1.DiskProvisioning]string{
		"": "thin", vmv1alpha1.DiskProvisioningThin: "thin", vmv1alpha1.DiskProvisioningThick: "thick",
		vmv1alpha1.DiskProvisioningThickEagerZero: "eagerZeroedThick",
	} {
		want := configspec.Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{BootDisk: &vmv1alpha1.VirtualMachineBootDisk{Provisioning: provisioning}}}, Name: "web"}}
		got := deployment(want, rep, types.ManagedObjectReference{}, "doc")
		if got.StorageProvisioning != wanted || got.DefaultDatastoreID != "datastore-1" {
			t.Errorf("%q: provisioning %q on %q, want %s on datastore-1", provisioning, got.StorageProvisioning, got.DefaultDatastoreID, wanted)
		}
	}
}

// A template may have been a managed VM and may still have its owner and pause keys.
func TestClone_DropsTheTemplatesSlipwayKeys(t *testing.T) {
	template := &mo.VirtualMachine{}
	template.Config = &types.VirtualMachineConfigInfo{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "slipway.vm", Value: "a/b/c"}, &types.OptionValue{Key: "slipway.paused", Value: "TRUE"},
		&types.OptionValue{Key: "slipway.volume.data", Value: "scsi0:1"}, &types.OptionValue{Key: "svga.present", Value: "FALSE"},
	}}
	spec := types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "slipway.vm", Value: "team-a/web/uid"}}}
	want := configspec.Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{}}}}
	got := map[string]any{}
	for _, o := range cloneSpec(template, want, &placement.Report{}, types.ManagedObjectReference{}, spec).Config.ExtraConfig {
		got[o.GetOptionValue().Key] = o.GetOptionValue().Value
	}
	if diff := cmp.Diff(map[string]any{"slipway.vm": "team-a/web/uid", "slipway.paused": "", "slipway.volume.data": ""}, got); diff != "" {
		t.Errorf("extraConfig (-want +got):\n%s", diff)
	}
}
