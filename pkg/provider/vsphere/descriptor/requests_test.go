// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/library"
)

// described parses a descriptor of one virtual machine with these sections, hardware and products.
func described(t *testing.T, sections, items, products string) *Image {
	t.Helper()
	image, err := parse(strings.NewReader(envelope(sections + `<VirtualSystem ovf:id="a"><Info/>` + products +
		`<VirtualHardwareSection><Info/>` + items + `</VirtualHardwareSection></VirtualSystem>`)))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func config(key, value string) string {
	return fmt.Sprintf(`<vmw:Config ovf:required="false" vmw:key="%s" vmw:value="%s"/>`, key, value)
}

func extra(key, value string) string {
	return fmt.Sprintf(`<vmw:ExtraConfig ovf:required="false" vmw:key="%s" vmw:value="%s"/>`, key, value)
}

func TestParse_ListsUnappliedSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		items, want string
		applied     []string
	}{
		"nothing":                        {config("firmware", "efi") + config("uuid", "56 4d") + device(15, 1, "ResourceSubType=vmware.cdrom.iso") + device(1, 2, "ResourceSubType=vmware.vmci"), "", nil},
		"confidential computing":         {config("sgxInfo.epcSize", "256") + config("sevEnabled", "true") + config("tdxEnabled", "false"), "settings sevEnabled, sgxInfo.epcSize", nil},
		"devices of the host":            {device(1, 1, "ResourceSubType=vmware.pci.passthrough-vmiop") + device(34, 2, "ResourceSubType=VMware.vTPM") + device(20, 3, "ResourceSubType=vmware.nvdimm.device"), "devices vmware.nvdimm.device, vmware.pci.passthrough-vmiop, vmware.vtpm", nil},
		"data for the guest":             {extra("GuestInfo.token", "x"), "advanced settings GuestInfo.token", nil},
		"channels to the host":           {extra("isolation.tools.copy.disable", "FALSE") + extra("RemoteDisplay.vnc.enabled", "true") + extra("ethernet0.filter4.name", "x"), "advanced settings RemoteDisplay.vnc.enabled, ethernet0.filter4.name, isolation.tools.copy.disable", nil},
		"hardening and other settings":   {extra("isolation.tools.copy.disable", "TRUE") + extra("disk.EnableUUID", "TRUE"), "", []string{"isolation.tools.copy.disable", "disk.EnableUUID"}},
		"settings and devices, one each": {config("pmem.snapshotMode", "x") + extra("sched.mem.pin", "TRUE") + device(21, 1, ""), "settings pmem.snapshotMode; advanced settings sched.mem.pin; devices x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			image := described(t, "", tc.items, "")
			got := image.Description.NotApplied
			if (got == "") != (tc.want == "") || !strings.Contains(got, "without some of its settings: "+tc.want+". ") && tc.want != "" {
				t.Errorf("not applied: %q, want %q", got, tc.want)
			}
			var applied []string
			for _, o := range image.Config.ExtraConfig {
				applied = append(applied, o.GetOptionValue().Key)
			}
			if diff := cmp.Diff(tc.applied, applied); diff != "" {
				t.Errorf("advanced settings of virtual machines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_ListsRequiredSectionsWithoutEffect(t *testing.T) {
	unknown := func(required string) string {
		return `<vmw:StorageSection` + required + ` xmlns:vmw="http://www.vmware.com/schema/ovf"><Info/></vmw:StorageSection>`
	}
	for name, tc := range map[string]struct{ envelope, want string }{
		"required":                {`<VirtualSystem ovf:id="a"><Info/>` + unknown(` ovf:required="true"`) + `</VirtualSystem>`, "sections StorageSection"},
		"required by default":     {unknown("") + `<VirtualSystem ovf:id="a"><Info/></VirtualSystem>`, "sections StorageSection"},
		"optional":                {unknown(` ovf:required="false"`) + `<VirtualSystem ovf:id="a"><Info/>` + unknown(` ovf:required="0"`) + `</VirtualSystem>`, ""},
		"known":                   {options + `<VirtualSystem ovf:id="a"><Info/><Name>a</Name>` + product + `<EulaSection><Info/></EulaSection></VirtualSystem>`, ""},
		"in a collection":         {`<VirtualSystemCollection ovf:id="c"><Info/><StartupSection><Info/></StartupSection>` + unknown("") + `<VirtualSystem ovf:id="a"><Info/><InstallSection><Info/></InstallSection></VirtualSystem></VirtualSystemCollection>`, "sections InstallSection, StorageSection"},
		"together with a setting": {`<VirtualSystem ovf:id="a"><Info/>` + unknown("") + `<VirtualHardwareSection><Info/>` + config("sevEnabled", "true") + `</VirtualHardwareSection></VirtualSystem>`, "settings sevEnabled; sections StorageSection"},
	} {
		t.Run(name, func(t *testing.T) {
			image, err := parse(strings.NewReader(envelope(tc.envelope)))
			if err != nil {
				t.Fatal(err)
			}
			got := image.Description.NotApplied
			if (got == "") != (tc.want == "") || !strings.Contains(got, "without some of its settings: "+tc.want+". ") && tc.want != "" {
				t.Errorf("not applied: %q, want %q", got, tc.want)
			}
		})
	}
}

func TestParse_UnlistedSettingsAreApplied(t *testing.T) {
	none := described(t, "", "", "").Config
	for _, key := range appliedConfig {
		if diff := cmp.Diff(none, described(t, "", config(key, "1"), "").Config); diff == "" {
			t.Errorf("%s does not change the configuration of virtual machines", key)
		}
	}
}

func TestParse_LimitsTheListOfSettings(t *testing.T) {
	var all strings.Builder
	for i := range 1000 {
		all.WriteString(config(fmt.Sprintf("future%03d.%s", i, strings.Repeat("x", 500)), "on"))
	}
	got := described(t, "", all.String(), "").Description.NotApplied
	if !strings.Contains(got, " and 968 others") || len(got) > 4<<10 {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

// options contains three configurations. The default is medium.
const options = `<DeploymentOptionSection><Info/><Configuration ovf:id="small"><Label>S</Label><Description>d</Description></Configuration>
<Configuration ovf:id="medium" ovf:default="true"><Label>M</Label><Description>d</Description></Configuration>
<Configuration ovf:id="large"><Label>L</Label><Description>d</Description></Configuration></DeploymentOptionSection>
<References><File ovf:id="file1" ovf:href="boot.vmdk"/></References>
<DiskSection><Info/><Disk ovf:diskId="a" ovf:fileRef="file1" ovf:capacity="1024"/><Disk ovf:diskId="b" ovf:capacity="2048"/></DiskSection>`

func TestParse_UsesTheDefaultConfiguration(t *testing.T) {
	disk := func(id int, of, configuration string) string {
		return strings.Replace(device(17, id, fmt.Sprintf("AddressOnParent=%d HostResource=ovf:/disk/%s Parent=3", id, of)), "<Item>", "<Item"+configuration+">", 1)
	}
	image := described(t, options,
		device(6, 3, "ResourceSubType=VirtualSCSI")+disk(0, "a", "")+disk(1, "b", ` ovf:configuration="medium large"`)+
			disk(2, "b", ` ovf:configuration="medium"`)+disk(4, "b", ` ovf:configuration="small"`),
		`<ProductSection><Info/><Property ovf:key="all" ovf:type="string"/><Property ovf:key="some" ovf:type="string" ovf:configuration="small medium" ovf:value="x">
<Value ovf:value="y" ovf:configuration="large medium"/></Property><Property ovf:key="one" ovf:type="string" ovf:configuration="large"/></ProductSection>`)
	var disks, properties []string
	for _, d := range image.Description.Status.Disks {
		disks = append(disks, d.Capacity.String())
	}
	for _, p := range image.Description.Status.Properties {
		properties = append(properties, p.Key+"="+p.Default)
	}
	if diff := cmp.Diff([]string{"1Ki", "2Ki", "2Ki"}, disks); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"all=", "some=y"}, properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if n := len(image.Hardware.Disks); n != 3 || image.Hardware.Err != nil {
		t.Errorf("%d disks of virtual machines, %v; want the described ones", n, image.Hardware.Err)
	}
	if want := "the image's default configuration medium; choosing large, small is not supported"; !strings.Contains(image.Description.Defaulted, want) {
		t.Errorf("defaulted: %q, want that it has %q", image.Description.Defaulted, want)
	}
	if got := described(t, "", device(6, 3, ""), "").Description.Defaulted; got != "" {
		t.Errorf("defaulted of an image without configurations: %q", got)
	}
}

func TestCheckFiles_ReturnsAnErrorForAMissingFile(t *testing.T) {
	disk := device(6, 3, "ResourceSubType=VirtualSCSI") + device(17, 4, "AddressOnParent=0 HostResource=ovf:/disk/a Parent=3")
	for name, tc := range map[string]struct {
		href    string
		files   []string
		wantErr bool
	}{
		"there":                         {"boot.vmdk", []string{"x.ovf", "boot.vmdk"}, false},
		"in a folder":                   {"disks/boot.vmdk", []string{"x.ovf", "boot.vmdk"}, false},
		"with an escaped name":          {"boot%20disk.vmdk", []string{"boot disk.vmdk"}, false},
		"missing after a failed import": {"boot.vmdk", []string{"x.ovf"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			image := described(t, strings.ReplaceAll(options, "boot.vmdk", tc.href), disk, "")
			var files []library.File
			for _, f := range tc.files {
				files = append(files, library.File{Name: f})
			}
			err := image.checkFiles(files)
			if (err != nil) != tc.wantErr || tc.wantErr && !strings.Contains(err.Error(), `file "boot.vmdk" of the OVF descriptor is missing in the library item`) {
				t.Errorf("error %v, want an error: %t", err, tc.wantErr)
			}
		})
	}
}
