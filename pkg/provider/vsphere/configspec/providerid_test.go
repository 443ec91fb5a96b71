// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

func TestProviderID_MustMatchTheVM(t *testing.T) {
	const mine, other = "42102040-0bee-48b1-8f2d-9b5d2d6f2f7e", "99102040-0bee-48b1-8f2d-9b5d2d6f2f7e"
	none, made := &mo.VirtualMachine{}, &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{Uuid: "42102040-0BEE-48B1-8F2D-9B5D2D6F2F7E"}}
	for _, tc := range []struct {
		name, providerID, firmware string
		vm                         *mo.VirtualMachine
		refused, unapplied         []string
	}{
		{"none", "", mine, none, nil, nil},
		{"the ID of the VM to be created", "vsphere://" + mine, mine, none, nil, nil},
		{"another", "vsphere://" + other, mine, none,
			[]string{"providerID: vsphere://" + other + " does not match the VM to be created, vsphere://" + mine + "; to adopt an existing VM, set instanceUUID"}, nil},
		{"another provider", "aws:///i-1", mine, none,
			[]string{"providerID: aws:///i-1 does not match the VM to be created, vsphere://" + mine + "; to adopt an existing VM, set instanceUUID"}, nil},
		{"an unknown BIOS UUID", "vsphere://" + mine, "", none,
			[]string{"providerID: vsphere://" + mine + " does not match the VM to be created, whose firmware.uuid vSphere chooses; to adopt an existing VM, set instanceUUID"}, nil},
		{"matching", "vsphere://" + mine, "", made, nil, nil},
		{"not matching", "vsphere://" + other, "", made, nil, []string{"providerID vsphere://" + other + " (the VM has vsphere://" + mine + ")"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: tc.firmware}}}, ProviderID: tc.providerID}}
			if diff := cmp.Diff(tc.refused, Refused(w, tc.vm).Invalid); diff != "" {
				t.Errorf("Refused (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unapplied, Deviations(w, tc.vm)); diff != "" {
				t.Errorf("Deviating (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProviderID_PendingBIOSUUIDIsNoDeviation(t *testing.T) {
	const mine = "42102040-0bee-48b1-8f2d-9b5d2d6f2f7e"
	vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{Uuid: "99102040-0bee-48b1-8f2d-9b5d2d6f2f7e"}}
	w := Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Firmware: &vmv1alpha1.VirtualMachineFirmware{UUID: mine}}}, ProviderID: "vsphere://" + mine}, New: true}
	if got := Deviations(w, vm); got != nil {
		t.Errorf("Deviating = %q for a VM whose BIOS UUID is not set yet", got)
	}
}
