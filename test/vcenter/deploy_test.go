// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// encodeSpec writes a configuration as the vapi endpoint takes it.
func encodeSpec(t *testing.T, spec types.VirtualMachineConfigSpec) *vcenter.VmConfigSpec {
	t.Helper()
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(struct {
		XMLName xml.Name `xml:"obj"`
		XSI     string   `xml:"xmlns:xsi,attr"`
		types.VirtualMachineConfigSpec
	}{XSI: "http://www.w3.org/2001/XMLSchema-instance", VirtualMachineConfigSpec: spec}); err != nil {
		t.Fatal(err)
	}
	return &vcenter.VmConfigSpec{Provider: "XML", XML: base64.StdEncoding.EncodeToString(out.Bytes())}
}

// libraryItem finds the library item by its documented names.
func libraryItem(t *testing.T, r *rest.Client) string {
	t.Helper()
	m := library.NewManager(r)
	lib, err := m.GetLibraryByName(t.Context(), contentlibrary.Library)
	if err != nil {
		t.Fatal(err)
	}
	items, err := m.FindLibraryItems(t.Context(), library.FindItem{LibraryID: lib.ID, Name: contentlibrary.Item})
	if err != nil || len(items) != 1 {
		t.Fatalf("items named %s: %v, %v", contentlibrary.Item, items, err)
	}
	return items[0]
}

func deployment(t *testing.T, p places, name, id string) vcenter.Deploy {
	t.Helper()
	return vcenter.Deploy{
		DeploymentSpec: vcenter.DeploymentSpec{Name: name, AcceptAllEULA: true, VmConfigSpec: encodeSpec(t, types.VirtualMachineConfigSpec{
			InstanceUuid: id,
			NumCPUs:      2,
			MemoryMB:     4096,
			ExtraConfig:  []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.who", Value: "slipway"}},
		})},
		Target: vcenter.Target{ResourcePoolID: p.pool.Reference().Value, FolderID: p.folder.Reference().Value},
	}
}

func TestLibraryDeploy_AppliesTheConfigurationAtCreation(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	s.Deployer().DisksOnly(false)
	c := connect(ctx, t, s)
	r := connectREST(ctx, t, c)
	p := findPlaces(ctx, t, c)
	item, id := libraryItem(t, r), uuid.NewString()

	ref, err := vcenter.NewManager(r).DeployLibraryItem(ctx, item, deployment(t, p, "db-0", id))
	if err != nil {
		t.Fatal(err)
	}
	vm := read(ctx, t, c, object.NewVirtualMachine(c.Client, *ref))
	if vm.Name != "db-0" || vm.Config.InstanceUuid != id || vm.Config.Hardware.NumCPU != 2 || vm.Config.Hardware.MemoryMB != 4096 {
		t.Errorf("deployed %q with instance UUID %s, %d CPUs, %d MB", vm.Name, vm.Config.InstanceUuid, vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB)
	}
	if vm.Config.Firmware != "efi" || vm.Config.GuestId != "vmwarePhoton64Guest" {
		t.Errorf("firmware %q and guest %q, want those of the OVF", vm.Config.Firmware, vm.Config.GuestId)
	}
	if got, _ := object.OptionValueList(vm.Config.ExtraConfig).GetString("guestinfo.who"); got != "slipway" {
		t.Errorf("guestinfo.who is %q", got)
	}
	devices := object.VirtualDeviceList(vm.Config.Hardware.Device)
	disks := devices.SelectByType((*types.VirtualDisk)(nil))
	if len(disks) != 1 || disks[0].(*types.VirtualDisk).CapacityInKB != 16<<20 {
		t.Errorf("disks: %v, want one of 16 GiB", disks)
	}
	cards := devices.SelectByType((*types.VirtualEthernetCard)(nil))
	if len(cards) != 1 || !strings.HasPrefix(cards[0].(types.BaseVirtualEthernetCard).GetVirtualEthernetCard().MacAddress, "00:50:56:") {
		t.Errorf("network cards: %v, want one with an address of vCenter's", cards)
	}
	if got, err := object.NewSearchIndex(c.Client).FindByUuid(ctx, nil, id, true, types.NewBool(true)); err != nil || got == nil || got.Reference() != *ref {
		t.Errorf("search by instance UUID found %v, %v", got, err)
	}

	for name, deploy := range map[string]vcenter.Deploy{
		"a name in use":   deployment(t, p, "db-0", uuid.NewString()),
		"an unknown pool": {DeploymentSpec: vcenter.DeploymentSpec{Name: "db-2"}, Target: vcenter.Target{ResourcePoolID: "resgroup-999"}},
		"an unknown datastore": {
			DeploymentSpec: vcenter.DeploymentSpec{Name: "db-3", DefaultDatastoreID: "datastore-999"},
			Target:         vcenter.Target{ResourcePoolID: p.pool.Reference().Value},
		},
	} {
		if ref, err := vcenter.NewManager(r).DeployLibraryItem(ctx, item, deploy); err == nil {
			t.Errorf("deploy with %s made %s", name, ref)
		}
	}
	if _, err := vcenter.NewManager(rest.NewClient(c.Client)).DeployLibraryItem(ctx, item, deployment(t, p, "db-4", "")); err == nil {
		t.Error("deploy without a session succeeded")
	}
}

func TestDestroy_ReleasesNameAndInstanceUUID(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	r := connectREST(ctx, t, c)
	p := findPlaces(ctx, t, c)
	item, id := libraryItem(t, r), uuid.NewString()
	for round := range 5 {
		ref, err := vcenter.NewManager(r).DeployLibraryItem(ctx, item, deployment(t, p, "again", id))
		if err != nil {
			t.Fatalf("deploy %d of the same name: %v", round, err)
		}
		task, err := object.NewVirtualMachine(c.Client, *ref).Destroy(ctx)
		wait(ctx, t, task, err)
	}
}

func TestParallelDeploysAndClones_OfOneNameCreateOneVM(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	r := connectREST(ctx, t, c)
	p := findPlaces(ctx, t, c)
	item := libraryItem(t, r)

	const each = 4
	var wg sync.WaitGroup
	results := make(chan error, 2*each)
	for range each {
		deploy := deployment(t, p, "same", uuid.NewString())
		wg.Go(func() {
			_, err := vcenter.NewManager(r).DeployLibraryItem(ctx, item, deploy)
			results <- err
		})
		wg.Go(func() {
			pool := p.pool.Reference()
			task, err := p.template.Clone(ctx, p.folder, "same", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}})
			if err == nil {
				err = task.Wait(ctx)
			}
			if err != nil && !fault.Is(err, &types.DuplicateName{}) {
				t.Errorf("clone: %v, want DuplicateName", err)
			}
			results <- err
		})
	}
	wg.Wait()
	close(results)
	made := 0
	for err := range results {
		if err == nil {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d creations of one name succeeded, want 1", made)
	}
}

func TestClone_KeepsTheHardwareOfTheTemplateAndGetsTheGivenIdentity(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	pool, id := p.pool.Reference(), uuid.NewString()
	macs := map[string]bool{}
	for i := range 2 {
		spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}, PowerOn: i == 1}
		if i == 0 {
			spec.Config = &types.VirtualMachineConfigSpec{InstanceUuid: id, NumCPUs: 4, Annotation: "mine"}
		}
		task, err := p.template.Clone(ctx, p.folder, fmt.Sprintf("clone-%d", i), spec)
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if *info.Entity != p.template.Reference() {
			t.Errorf("the task is on %s, want the source %s", info.Entity, p.template.Reference())
		}
		vm := read(ctx, t, c, object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference)))
		if vm.Config.Firmware != "efi" || vm.Config.Template || vm.Config.CpuHotAddEnabled == nil || !*vm.Config.CpuHotAddEnabled {
			t.Errorf("clone: firmware %q, template %t, CPU hot-add %v", vm.Config.Firmware, vm.Config.Template, vm.Config.CpuHotAddEnabled)
		}
		if i == 0 && (vm.Config.InstanceUuid != id || vm.Config.Hardware.NumCPU != 4 || vm.Config.Annotation != "mine") {
			t.Errorf("clone: instance UUID %s, %d CPUs, annotation %q", vm.Config.InstanceUuid, vm.Config.Hardware.NumCPU, vm.Config.Annotation)
		}
		if want := i == 1; (vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn) != want {
			t.Errorf("clone %d is %s", i, vm.Runtime.PowerState)
		}
		for _, d := range vm.Config.Hardware.Device {
			if card, ok := d.(types.BaseVirtualEthernetCard); ok {
				macs[card.GetVirtualEthernetCard().MacAddress] = true
			}
		}
	}
	if len(macs) != 2 {
		t.Errorf("two clones have the MAC addresses %v", macs)
	}
}
