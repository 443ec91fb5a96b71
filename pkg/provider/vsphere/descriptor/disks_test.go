// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// device returns a hardware item.
func device(kind, id int, more string) string {
	return fmt.Sprintf("<Item>%s<rasd:ElementName>x</rasd:ElementName>%s<rasd:InstanceID>%d</rasd:InstanceID>%s<rasd:ResourceType>%d</rasd:ResourceType></Item>",
		element(more, "AddressOnParent"), element(more, "HostResource"), id, element(more, "Parent")+element(more, "ResourceSubType"), kind)
}

// element returns the value of a name=value pair in more.
func element(more, name string) string {
	for part := range strings.FieldsSeq(more) {
		if value, ok := strings.CutPrefix(part, name+"="); ok {
			return "<rasd:" + name + ">" + value + "</rasd:" + name + ">"
		}
	}
	return ""
}

func TestParse_AttachesDisksToControllers(t *testing.T) {
	const files = `<References><File ovf:id="file1" ovf:href="sub/boot.vmdk"/></References>`
	const disks = `<DiskSection><Info/><Disk ovf:diskId="boot" ovf:fileRef="file1" ovf:capacity="4" ovf:capacityAllocationUnits="byte * 2^30"/>
<Disk ovf:diskId="empty" ovf:capacity="1024"/></DiskSection>`
	for name, tc := range map[string]struct{ sections, items, want string }{
		"two disks on SCSI": {files + disks, device(6, 3, "ResourceSubType=VirtualSCSI") + device(17, 4, "AddressOnParent=0 HostResource=ovf:/disk/boot Parent=3") +
			device(17, 5, "AddressOnParent=1 HostResource=ovf:/disk/empty Parent=3"),
			`boot.vmdk file1 4294967296 at 0 of *types.ParaVirtualSCSIController; "" "" 1024 at 1 of *types.ParaVirtualSCSIController`},
		"one disk on IDE": {files + disks, device(5, 3, "") + device(17, 4, "AddressOnParent=0 HostResource=ovf:/disk/boot Parent=3"),
			"boot.vmdk file1 4294967296 at 0 of 200"},
		"an invalid unit number": {files + disks, device(6, 3, "ResourceSubType=VirtualSCSI") + device(17, 4, "AddressOnParent=40 HostResource=ovf:/disk/boot Parent=3") +
			device(17, 5, "AddressOnParent=1 HostResource=ovf:/disk/empty Parent=3"), `the disks of the OVF descriptor cannot be used: `},
		"none":                          {"", device(3, 1, ""), ""},
		"an undefined disk":             {files + disks, device(17, 4, "HostResource=ovf:/disk/other"), `the disks of the OVF descriptor cannot be used: `},
		"a disk without a disk section": {"", device(17, 4, "HostResource=ovf:/disk/boot"), `the disks of the OVF descriptor cannot be used: `},
	} {
		t.Run(name, func(t *testing.T) {
			image, err := parse(strings.NewReader(envelope(tc.sections + `<VirtualSystem ovf:id="a"><Info/><VirtualHardwareSection><Info/>` + tc.items + `</VirtualHardwareSection></VirtualSystem>`)))
			if err != nil {
				t.Fatal(err)
			}
			h := image.Hardware
			if h.Err != nil {
				if tc.want == "" || !strings.HasPrefix(h.Err.Error(), tc.want) {
					t.Fatalf("error %v, want %q", h.Err, tc.want)
				}
				return
			}
			var got []string
			for _, d := range h.Disks {
				at := fmt.Sprint(d.Device.ControllerKey)
				for _, c := range h.Controllers {
					if c.GetVirtualDevice().Key == d.Device.ControllerKey {
						at = fmt.Sprintf("%T", c)
					}
				}
				file := fmt.Sprintf("%s %s", d.File, d.FileID)
				if d.File == "" {
					file = `"" ""`
				}
				got = append(got, fmt.Sprintf("%s %d at %d of %s", file, d.Device.CapacityInBytes, *d.Device.UnitNumber, at))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("disks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCached_FindsACopyByFileIDOrName(t *testing.T) {
	d := Reference{FileID: "file1", File: "boot.vmdk"}
	for name, files := range map[string]map[string]string{"ID": {"file1": "[ssd] a"}, "name": {"boot.vmdk": "[ssd] a"}} {
		if got, err := d.Cached(files); err != nil || got != "[ssd] a" {
			t.Errorf("by %s: %q, %v", name, got, err)
		}
	}
	if _, err := d.Cached(map[string]string{"file2": "[ssd] b"}); err == nil || !strings.Contains(err.Error(), `no copy of file "boot.vmdk"`) {
		t.Errorf("error %v without a copy", err)
	}
}

func TestNotCopyable_ReturnsWhyAnImageIsDeployed(t *testing.T) {
	const disk = `<References><File ovf:id="file1" ovf:href="boot.vmdk"/></References><DiskSection><Info/><Disk ovf:diskId="boot" ovf:fileRef="file1" ovf:capacity="1024"/></DiskSection>`
	withNVRAM := strings.Replace(disk, "</References>", `<File ovf:id="file2" ovf:href="boot.nvram"/></References>`, 1)
	nvram := func(key, value string) string {
		return fmt.Sprintf(`<vmw:ExtraConfig ovf:required="false" vmw:key="%s" vmw:value="%s"/>`, key, value)
	}
	scsi := device(6, 3, "ResourceSubType=VirtualSCSI") + device(17, 4, "AddressOnParent=0 HostResource=ovf:/disk/boot Parent=3")
	for name, tc := range map[string]struct {
		sections, hardware string
		want, nvram        string
	}{
		"a disk":                                {disk, scsi, "", ""},
		"no disk":                               {"", "", "the image has no disks", ""},
		"an undefined disk":                     {disk, device(17, 4, "HostResource=ovf:/disk/other"), "the disks of the OVF descriptor cannot be used: ", ""},
		"firmware variables":                    {withNVRAM, scsi + nvram("nvram", "ovf:/file/file2"), "", "file2 boot.nvram"},
		"variables, with the key in upper case": {withNVRAM, scsi + nvram("NVRAM", "ovf:/file/file2"), "", "file2 boot.nvram"},
		"firmware variables that are not included":  {disk, scsi + nvram("nvram", "boot.nvram"), "", ""},
		"firmware variables with an undefined file": {disk, scsi + nvram("nvram", "ovf:/file/file2"), `its NVRAM file "file2" is missing in its references`, ""},
	} {
		image, err := parse(strings.NewReader(envelope(tc.sections + `<VirtualSystem ovf:id="a"><Info/><VirtualHardwareSection><Info/>` + tc.hardware + `</VirtualHardwareSection></VirtualSystem>`)))
		if err != nil {
			t.Fatal(err)
		}
		if err := image.NotCopyable(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: not copyable: %v, want %q", name, err, tc.want)
		}
		if got := strings.TrimSpace(image.Hardware.NVRAM.FileID + " " + image.Hardware.NVRAM.File); got != tc.nvram {
			t.Errorf("%s: NVRAM %q, want %q", name, got, tc.nvram)
		}
		if len(image.Config.ExtraConfig) != 0 {
			t.Errorf("%s: a deployment gets %v", name, image.Config.ExtraConfig)
		}
	}
}
