// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Users type keys manually, and vSphere itself writes some keys in two spellings.
func TestExtraConfig_IgnoresLetterCase(t *testing.T) {
	vm := sample()
	vm.Config.ExtraConfig = []types.BaseOptionValue{
		&types.OptionValue{Key: strings.ToUpper(vmv1alpha1.ExtraConfigPausedKey), Value: "true"},
		&types.OptionValue{Key: "Slipway.VM", Value: "ns/web/uid-1"},
		&types.OptionValue{Key: "SLIPWAY.claim.data", Value: "FCD-1"},
		&types.OptionValue{Key: "SLIPWAY.Disk.SCSI0:1", Value: "uuid-3"},
		&types.OptionValue{Key: "Slipway.Snapshot", Value: "uid-2/record"},
	}
	if !observe.IsPaused(vm) {
		t.Errorf("a VM with %s is not paused", vm.Config.ExtraConfig[0].GetOptionValue().Key)
	}
	if o, ok := observe.OwnerOf(vm); !ok || o.UID != "uid-1" {
		t.Errorf("owner %v, %v", o, ok)
	}
	if diff := cmp.Diff(map[string]string{"data": "fcd-1"}, observe.Claims(vm)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"scsi0:1": "uuid-3"}, observe.DiskRecords(vm)); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
	if k := observe.SnapshotRecord(vm); k == nil || k.UID != "uid-2" {
		t.Errorf("record of a snapshot %v", k)
	}
	if !observe.IsSlipwayKey("SLIPWAY.record") || observe.IsSlipwayKey("slip") {
		t.Errorf("IsSlipwayKey = %v and %v, want true and false", observe.IsSlipwayKey("SLIPWAY.record"), observe.IsSlipwayKey("slip"))
	}
}

// vCenter reports the text None before VMware Tools have reported a host name.
func TestHostName_IgnoresTheTextNone(t *testing.T) {
	vm := sample()
	vm.Guest.HostName = "None"
	if f := observe.Of(vm, nil); f.Guest.HostName != "" || f.Network.HostName != "" {
		t.Errorf("host name %q and %q, want none", f.Guest.HostName, f.Network.HostName)
	}
}

func TestFirstBootData_IsNotReportedAsRemovedIfItIsSetAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		extra          map[string]string
		marked, wanted bool
	}{
		"never removed":       {map[string]string{observe.UserDataKey: "x"}, false, false},
		"removed":             {map[string]string{observe.BootstrapRemovedKey: "uid-1", "guestinfo.metadata": "m"}, true, true},
		"user data again":     {map[string]string{observe.BootstrapRemovedKey: "uid-1", observe.UserDataKey: "x"}, true, false},
		"Ignition again":      {map[string]string{observe.BootstrapRemovedKey: "uid-1", observe.IgnitionKey: "x"}, true, false},
		"of another instance": {map[string]string{observe.BootstrapRemovedKey: "uid-1", observe.InstanceIDKey: "second"}, false, false},
	} {
		vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{}}
		for key, value := range tc.extra {
			vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
		}
		if marked, removed := observe.BootstrapMarked(vm, "uid-1"), observe.BootstrapRemoved(vm, "uid-1"); marked != tc.marked || removed != tc.wanted {
			t.Errorf("%s: marked %v and removed %v, want %v and %v", name, marked, removed, tc.marked, tc.wanted)
		}
	}
}
