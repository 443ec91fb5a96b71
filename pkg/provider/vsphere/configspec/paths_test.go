// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// notInTable are differences that no effective spec contains: identity, records, and one-time settings.
var notInTable = []string{"metadata.guest", "metadata.name", "metadata.uid", "instanceUUID", "nextRestartTime", "bootstrap", "bootstrap.cloudInit", "bootstrap.vAppConfig"}

// A path must exist on both sides or on neither.
func TestRows_HaveTheSamePathsAsTheHardwareTable(t *testing.T) {
	owner := observe.Owner{Key: k8stypes.NamespacedName{Namespace: "ns", Name: "vm"}, UID: "uid"}
	want := Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: effectiveOf(t, `
cpu: {sockets: 3, cores: 2, maxSockets: 8, hotAddEnabled: true, dedicatedCPUPlacement: true, reservation: 1G, limit: 2G, shares: {level: High}},
memory: {guest: 4Gi, maxGuest: 8Gi, hotAddEnabled: true, hugePageSize: 1Gi, limit: 4Gi, shares: {level: Low}},
firmware: {bootloader: EFI, secureBoot: true, uuid: aa}, minHardwareVersion: 21, guestID: x,
network: {interfaces: [{name: eth0}]}, volumes: [{name: new, disk: {size: 1Gi}}],
storageClass: gold, bootDisk: {size: 20Gi, storageClass: silver}, bootOrder: [{type: CDROM}],
devices: {gpus: [{name: g, deviceName: grid}], hostDevices: [{name: h, deviceName: "8086:1572"}], tpm: {}, video: {type: svga},
  disableHotplug: true, autoattachGraphicsDevice: false, autoattachSerialConsole: true},
nodeSelector: {a: b}, annotations: {c: d}, terminationGracePeriodSeconds: 5`)}, Identity: driver.Identity{Key: owner.Key, UID: owner.UID, InstanceUUID: "i"}, Name: "vm", Restarted: time.Unix(1, 0)}, Attempt: "a", Backings: map[string]types.BaseVirtualDeviceBackingInfo{"": &types.VirtualEthernetCardNetworkBackingInfo{}}}
	want.Storage.Policies = map[string]storage.Policy{"gold": {ID: "1", Name: "Gold"}, "silver": {ID: "2", Name: "Silver"}}
	config := &types.VirtualMachineConfigInfo{Version: "vmx-19", Firmware: "bios"}
	config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: ownerKey, Value: owner.String()}}
	config.Files.VmPathName = "[ds] vm/vm.vmx"
	withDisks(&mo.VirtualMachine{Config: config})
	var found []string
	for _, d := range Differences(want, &mo.VirtualMachine{Config: config}) {
		if !hardware.Known(d.Path) && !slices.Contains(notInTable, d.Path) {
			t.Errorf("%s is compared with vSphere, but is not in the table of hardware fields", d.Path)
		}
		found = append(found, d.Path)
	}
	for _, f := range hardware.Fields {
		if has := slices.Contains(found, f.Path); has != (f.Property != "") {
			t.Errorf("%s has the property %q in the table; compared with vSphere: %t", f.Path, f.Property, has)
		}
	}
	if !slices.Contains(found, hardware.Volume("new")) {
		t.Errorf("the volume is not in %v", found)
	}
}

func TestRows_AreCompleteForEachSupportedField(t *testing.T) {
	fields := 0
	for _, f := range hardware.Fields {
		r, found := rows[f.Path]
		if found != (f.Property != "") {
			t.Errorf("%s has the property %q; has a row: %t", f.Path, f.Property, found)
		}
		if !found {
			continue
		}
		fields++
		if scalar := r.set != nil; scalar && r.read == nil || !scalar && r.compare == nil {
			t.Errorf("the row of %s has read %t, set %t and compare %t; want read and set, or compare", f.Path, r.read != nil, scalar, r.compare != nil)
		}
		if r.set == nil && (r.adjust != nil || r.unknown != nil || r.resets) {
			t.Errorf("the row of %s changes a desired value that it does not set", f.Path)
		}
	}
	if fields != len(rows) {
		t.Errorf("%d rows, and %d of them are fields of the table", len(rows), fields)
	}
}
