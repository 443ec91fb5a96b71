// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// booted powers a virtual machine on and returns the state that its guest reports.
func booted(ctx context.Context, t *testing.T, c *govmomi.Client, vm *object.VirtualMachine) mo.VirtualMachine {
	t.Helper()
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	var got mo.VirtualMachine
	eventually(ctx, t, "the guest has booted", func() bool {
		got = read(ctx, t, c, vm)
		return got.Guest.ToolsRunningStatus == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	})
	return got
}

const mac = "00:50:56:00:00:07"

// seeded returns a VM with cloud-init's metadata in guestinfo.
func seeded(metadata map[string]any) types.VirtualMachineConfigSpec {
	text, err := json.Marshal(metadata)
	if err != nil {
		panic(err)
	}
	spec := machine("web")
	spec.ExtraConfig = []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.metadata", Value: base64.StdEncoding.EncodeToString(text)},
		&types.OptionValue{Key: "guestinfo.metadata.encoding", Value: "base64"},
	}
	for _, d := range spec.DeviceChange {
		if card, ok := d.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard); ok {
			card.GetVirtualEthernetCard().MacAddress = mac
			card.GetVirtualEthernetCard().AddressType = string(types.VirtualEthernetCardMacTypeManual)
		}
	}
	return spec
}

func TestGuest_ConfiguresTheInterfacesOfItsNetworkData(t *testing.T) {
	static := map[string]any{"addresses": []string{"192.0.2.5/24"}}
	matching := func(m map[string]any) map[string]any {
		return map[string]any{"match": m, "addresses": []string{"192.0.2.5/24"}}
	}
	for name, test := range map[string]struct {
		ethernets map[string]any
		want      string // the only address
	}{
		"by a name that Linux does not give": {map[string]any{"eth0": static}, ""},
		"by the name of the first vmxnet3":   {map[string]any{"ens192": static}, "192.0.2.5"},
		"by the name of another card":        {map[string]any{"ens33": static}, ""},
		"by its MAC address":                 {map[string]any{"eth0": matching(map[string]any{"macaddress": strings.ToUpper(mac)})}, "192.0.2.5"},
		"by another MAC address":             {map[string]any{"ens192": matching(map[string]any{"macaddress": "00:50:56:00:00:08"})}, ""},
		"by a pattern":                       {map[string]any{"all": matching(map[string]any{"name": "ens*"})}, "192.0.2.5"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{})
			c := connect(ctx, t, s)
			vm := create(ctx, t, c, findPlaces(ctx, t, c), seeded(map[string]any{
				"instance-id": "i-1", "local-hostname": "from-seed", "network": map[string]any{"version": 2, "ethernets": test.ethernets},
			}))
			got := booted(ctx, t, c, vm)
			if got.Guest.IpAddress != test.want || got.Guest.HostName != "from-seed" {
				t.Errorf("the guest is %q with %q, want from-seed with %q", got.Guest.HostName, got.Guest.IpAddress, test.want)
			}
			if n := len(got.Guest.Net[0].IpAddress); n > 1 || (n == 1) != (test.want != "") {
				t.Errorf("its card has %q", got.Guest.Net[0].IpAddress)
			}
		})
	}
}

func TestGuest_WithOVFPropertiesIgnoresGuestinfo(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	s.Deployer().DisksOnly(false)
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	r := connectREST(ctx, t, c)
	m := library.NewManager(r)
	lib, err := m.GetLibraryByName(ctx, contentlibrary.Library)
	if err != nil {
		t.Fatal(err)
	}
	items, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: lib.ID, Name: contentlibrary.Appliance})
	if err != nil || len(items) != 1 {
		t.Fatalf("items %v, %v", items, err)
	}
	for i, test := range []struct {
		removed *bool
		want    string
	}{{nil, "ubuntuguest"}, {types.NewBool(true), "from-seed"}} {
		d := deployment(t, p, fmt.Sprintf("web-%d", i), uuid.NewString())
		spec := seeded(map[string]any{"local-hostname": "from-seed"})
		d.DeploymentSpec.VmConfigSpec = encodeSpec(t, types.VirtualMachineConfigSpec{ExtraConfig: spec.ExtraConfig, VAppConfigRemoved: test.removed})
		ref, err := vcenter.NewManager(r).DeployLibraryItem(ctx, items[0], d)
		if err != nil {
			t.Fatal(err)
		}
		vm := object.NewVirtualMachine(c.Client, *ref)
		if got := booted(ctx, t, c, vm); got.Guest.HostName != test.want || (got.Config.VAppConfig == nil) != (test.removed != nil) {
			t.Errorf("with the vApp configuration removed: %v: the guest is %q, want %q", test.removed != nil, got.Guest.HostName, test.want)
		}
		// A clone has the properties of its source, unless they are removed.
		task, err := vm.Clone(ctx, p.folder, fmt.Sprintf("clone-%d", i), types.VirtualMachineCloneSpec{
			Config: &types.VirtualMachineConfigSpec{VAppConfigRemoved: types.NewBool(true)},
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(ctx)
		if err != nil {
			t.Fatal(err)
		}
		clone := object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
		if got := booted(ctx, t, c, clone); got.Guest.HostName != "from-seed" {
			t.Errorf("the guest of the clone without vApp configuration is %q, want from-seed", got.Guest.HostName)
		}
		task, err = vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{VAppConfigRemoved: types.NewBool(true)})
		wait(ctx, t, task, err)
		if left := read(ctx, t, c, vm).Config.VAppConfig; left != nil {
			t.Errorf("after it was removed the vApp configuration is %+v", left)
		}
	}
}

func TestCustomization_RunsAtBootAndThenEnds(t *testing.T) {
	for failure, want := range map[string]types.GuestInfoCustomizationStatus{
		"":                     types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_SUCCEEDED,
		"The host name is bad": types.GuestInfoCustomizationStatusTOOLSDEPLOYPKG_FAILED,
	} {
		t.Run(string(want), func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{GuestBootDelay: DefaultGuestBootDelay})
			s.Guests().FailCustomizations(failure)
			c := connect(ctx, t, s)
			p := findPlaces(ctx, t, c)
			pool := p.pool.Reference()
			task, err := p.template.Clone(ctx, p.folder, "web", types.VirtualMachineCloneSpec{
				Location: types.VirtualMachineRelocateSpec{Pool: &pool},
				Customization: &types.CustomizationSpec{
					Identity:      &types.CustomizationLinuxPrep{HostName: &types.CustomizationFixedName{Name: "customized"}, Domain: "example.com"},
					NicSettingMap: []types.CustomizationAdapterMapping{{Adapter: types.CustomizationIPSettings{Ip: &types.CustomizationDhcpIpGenerator{}}}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			info, err := task.WaitForResult(ctx)
			if err != nil {
				t.Fatal(err)
			}
			vm := object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
			watched := follow(ctx, t, c, p.folder, "guest.customizationInfo")
			states := []string{read(ctx, t, c, vm).Guest.CustomizationInfo.CustomizationStatus}
			task, err = vm.PowerOn(ctx)
			wait(ctx, t, task, err)
			var last types.GuestInfoCustomizationInfo
			for last.EndTime == nil {
				for _, change := range watched.next(ctx, t)[vm.Reference().Value].ChangeSet {
					last, _ = change.Val.(types.GuestInfoCustomizationInfo)
					states = append(states, last.CustomizationStatus)
				}
			}
			if diff := cmp.Diff([]string{"TOOLSDEPLOYPKG_PENDING", "TOOLSDEPLOYPKG_RUNNING", string(want)}, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if last.ErrorMsg != failure {
				t.Errorf("message %q, want %q", last.ErrorMsg, failure)
			}
			got := read(ctx, t, c, vm)
			if (got.Guest.HostName == "customized") != (failure == "") {
				t.Errorf("the guest is called %q", got.Guest.HostName)
			}
		})
	}
}

func TestLibraryDeploy_ConfigurationReplacesTheDescriptorExceptForDisks(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	r := connectREST(ctx, t, c)
	item := libraryItem(t, r)
	deploy := func(name string, spec *vcenter.VmConfigSpec) *types.VirtualMachineConfigInfo {
		t.Helper()
		d := deployment(t, p, name, uuid.NewString())
		d.DeploymentSpec.VmConfigSpec = spec
		ref, err := vcenter.NewManager(r).DeployLibraryItem(ctx, item, d)
		if err != nil {
			t.Fatal(err)
		}
		return read(ctx, t, c, object.NewVirtualMachine(c.Client, *ref)).Config
	}
	little := encodeSpec(t, types.VirtualMachineConfigSpec{NumCPUs: 2})
	got := deploy("little", little)
	devices := object.VirtualDeviceList(got.Hardware.Device)
	disks, cards := devices.SelectByType((*types.VirtualDisk)(nil)), devices.SelectByType((*types.VirtualEthernetCard)(nil))
	if got.Firmware != "bios" || got.GuestId == "vmwarePhoton64Guest" || got.Hardware.MemoryMB == 2048 || len(disks) != 1 || len(cards) != 0 {
		t.Errorf("with a little configuration: firmware %s, guest %s, %d MB, %d disks, %d cards; want only the disk of the OVF",
			got.Firmware, got.GuestId, got.Hardware.MemoryMB, len(disks), len(cards))
	}
	if got := deploy("none", nil); got.Firmware != "efi" || got.Hardware.MemoryMB != 2048 {
		t.Errorf("without a configuration: firmware %s, %d MB, want those of the OVF", got.Firmware, got.Hardware.MemoryMB)
	}
	s.Deployer().DisksOnly(false)
	if got := deploy("loose", little); got.Firmware != "efi" || got.Hardware.MemoryMB != 2048 {
		t.Errorf("when the OVF counts: firmware %s, %d MB", got.Firmware, got.Hardware.MemoryMB)
	}
}

func TestLibraryDeploy_ConfigurationRequiresAPIVersion802(t *testing.T) {
	for version, ok := range map[string]bool{"8.0.1.0": false, "8.0.2.0": true, "9.0": true, "7.0.3.0": false} {
		t.Run(version, func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{APIVersion: version})
			c := connect(ctx, t, s)
			p := findPlaces(ctx, t, c)
			r := connectREST(ctx, t, c)
			d := deployment(t, p, "db", uuid.NewString())
			if _, err := vcenter.NewManager(r).DeployLibraryItem(ctx, libraryItem(t, r), d); (err == nil) != ok {
				t.Errorf("with a configuration: %v, want success: %t", err, ok)
			}
			d.DeploymentSpec.Name, d.DeploymentSpec.VmConfigSpec = "plain", nil
			if _, err := vcenter.NewManager(r).DeployLibraryItem(ctx, libraryItem(t, r), d); err != nil {
				t.Errorf("without a configuration: %v", err)
			}
		})
	}
}
