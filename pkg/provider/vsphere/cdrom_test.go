// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vapi/library"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// addISO adds an ISO item with a file to the content library.
func addISO(t *testing.T, ready vcenter.Ready, name string) *vmv1alpha1.VirtualMachineImage {
	t.Helper()
	account := url.UserPassword(vcenter.DefaultUsername, vcenter.DefaultPassword)
	if err := vsphereclient.PublishISO(t.Context(), admin(t, ready).Client, account, "slipway", name); err != nil {
		t.Fatal(err)
	}
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Name = name
	image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: name}
	return image
}

// driveOf returns the file in the VM's CD-ROM drive, and whether the drive is connected at power
// on.
func driveOf(t *testing.T, ready vcenter.Ready, name string) (iso string, connected bool) {
	t.Helper()
	for _, d := range inVCenter(t, ready)["team-a/"+name].Config.Hardware.Device {
		if drive, ok := d.(*vimtypes.VirtualCdrom); ok {
			if b, ok := drive.Backing.(*vimtypes.VirtualCdromIsoBackingInfo); ok {
				iso = b.FileName
			}
			return iso, drive.Connectable.StartConnected
		}
	}
	return "none", false
}

func TestCDROM_IsInsertedAndEjectedLive(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	one, two := addISO(t, ready, "one"), addISO(t, ready, "two")
	req := newRequest("discs", libraryImage())
	drive := vmv1alpha1.VirtualMachineVolume{Name: "iso", Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{Image: &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "one"}}}
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{drive, disk("data", "1Gi", "")}
	req.Effective.BootOrder = []vmv1alpha1.VirtualMachineBootDevice{{Type: vmv1alpha1.BootDeviceDisk, Name: "data"}, {Type: vmv1alpha1.BootDeviceCDROM}, {Type: vmv1alpha1.BootDeviceNetwork, Name: "eth0"}}
	req.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"iso": one}
	l.until("the VM runs", isSynced(req), req)
	iso, connected := driveOf(t, ready, "discs")
	if !connected || !strings.HasPrefix(iso, "[LocalDS_0] contentlib-") || !strings.HasSuffix(iso, ".iso") || !fileExists(t, ready, iso) {
		t.Errorf("the drive has %q, connected %t; want the item's file, connected", iso, connected)
	}
	if order := inVCenter(t, ready)["team-a/discs"].Config.BootOptions.BootOrder; len(order) != 3 {
		t.Errorf("boot order %v, want three devices", order)
	}
	checkNoOperation(t, p, req)

	req.Effective.Volumes[0].CDROM.Image.Name, req.CDROMImages["iso"] = "two", two
	other := ""
	l.until("the other image is inserted", func() bool { other, _ = driveOf(t, ready, "discs"); return other != iso && isSynced(req)() }, req)
	req.Effective.Volumes[0].CDROM.Connected = ptr(false)
	l.until("the image is ejected", func() bool { _, connected := driveOf(t, ready, "discs"); return !connected && isSynced(req)() }, req)
	req.Effective.Volumes[0].CDROM.Image = nil
	req.CDROMImages = nil
	l.until("the drive is empty", func() bool { iso, _ := driveOf(t, ready, "discs"); return iso == "" && isSynced(req)() }, req)
	if req.VM.Status.PowerState != vmv1alpha1.PoweredOn || !req.VM.Status.Volumes[0].Attached {
		t.Errorf("the VM is %s with volume %+v, want the VM running with its drive", req.VM.Status.PowerState, req.VM.Status.Volumes[0])
	}
	checkNoOperation(t, p, req)
	req.Effective.Volumes, req.Effective.BootOrder = req.Effective.Volumes[1:], nil
	l.until("the removal requires a restart", func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "False RestartRequired"
	}, req)
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the drive is removed", func() bool { iso, _ := driveOf(t, ready, "discs"); return iso == "none" }, req)
}

func TestCDROM_ReportsAnItemWithoutAFile(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	addItem(t, ready, "hollow", library.ItemTypeISO)
	req := newRequest("hollow", libraryImage())
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "hollow"}
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "iso", Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{Image: &vmv1alpha1.VirtualMachineImageRef{Name: "hollow"}}}}
	req.CDROMImages = map[string]*vmv1alpha1.VirtualMachineImage{"iso": image}
	l.until("the condition is reported", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionStorageReady) == "False NotFound" }, req)
	const want = `volumes[iso].cdrom.image: item "hollow" of content library "slipway" has 0 ISO files on a datastore, but must have one`
	if got := message(&req.VM.Status, vmv1alpha1.ConditionStorageReady); !strings.HasPrefix(got, want) {
		t.Errorf("message %q, want the prefix %q", got, want)
	}
}
