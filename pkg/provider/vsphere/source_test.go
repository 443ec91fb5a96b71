// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// Where the clone goes the template's network may not be, so that the clone must not
// have it for a moment.
func TestACloneHasItsOwnAdaptersFromTheStart(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	addNetwork(t, ready, "prod")
	vm, _ := makeVM(t, ready, "/DC0/vm/templates", "three-adapters")
	for range 2 {
		if err := vm.AddDevice(t.Context(), &types.VirtualE1000{VirtualEthernetCard: types.VirtualEthernetCard{
			VirtualDevice: types.VirtualDevice{Key: -1, Backing: &types.VirtualEthernetCardNetworkBackingInfo{
				VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	image := makeTemplate(t, vm, "three-adapters", types.VirtualMachineConfigSpec{})
	for name, network := range map[string]*vmv1alpha1.VirtualMachineNetworkSpec{
		"one":  {Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: "prod"}}},
		"none": {Disabled: true},
	} {
		req := newRequest(name, image)
		req.Effective.Network = network
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		before := counted.snapshot()["ReconfigVM_Task"]
		l.until("the VM is there", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, req)
		if n := counted.snapshot()["ReconfigVM_Task"] - before; n != 1 {
			t.Errorf("%s: %d reconfigurations after the clone, want one, which takes the mark of the attempt away", name, n)
		}
		cards := adaptersOf(t, object.NewVirtualMachine(vm.Client(), types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}))
		if len(cards) != len(network.Interfaces) || len(cards) == 1 && !strings.Contains(cards[0], " on dvportgroup") {
			t.Errorf("%s: adapters %q, want %d", name, cards, len(network.Interfaces))
		}
	}
}

// addItem adds an item without contents to the content library.
func addItem(t *testing.T, ready vcenter.Ready, name, itemType string) {
	t.Helper()
	c := rest.NewClient(admin(t, ready).Client)
	if err := c.Login(t.Context(), url.UserPassword(vcenter.DefaultUsername, vcenter.DefaultPassword)); err != nil {
		t.Fatal(err)
	}
	m := library.NewManager(c)
	libraries, err := m.FindLibrary(t.Context(), library.Find{Name: "slipway"})
	if err != nil || len(libraries) != 1 {
		t.Fatalf("content libraries %v, %v; want one", libraries, err)
	}
	if _, err := m.CreateLibraryItem(t.Context(), library.Item{Name: name, Type: itemType, LibraryID: libraries[0]}); err != nil {
		t.Fatal(err)
	}
}

func TestAnItemThatCannotBeDeployedIsNotAnImage(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	addItem(t, ready, "installer", library.ItemTypeISO)
	addItem(t, ready, "golden", library.ItemTypeVMTX)
	eventually(t, "the inventory is read", p.inventory.Synced)
	for item, want := range map[string]string{
		"installer": `has type "iso", and only those of type "ovf" can be deployed`,
		"golden":    "name the template by its inventory path",
	} {
		req := newRequest("from-"+item, libraryImage())
		req.Image.Spec.ContentLibrary.Item = item
		req.Now = time.Now()
		ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		if ch == nil {
			t.Fatal(err)
		}
		<-ch
		req.Now = time.Now()
		_, _ = p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionImageReady)
		if c == nil || c.Status != "False" || !strings.Contains(c.Message, want) {
			t.Errorf("%s: ImageReady = %+v, want that it %s", item, c, want)
		}
	}
	if n := counted.snapshot()["rest.DeployLibraryItem"]; n != 0 {
		t.Errorf("%d deployments were tried", n)
	}
}

func TestADescriptorIsReadOnceForAllDeploymentsOfIt(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first, second := newRequest("first", libraryImage()), newRequest("second", libraryImage())
	l.until("both run", running(first, second), first, second)
	third := newRequest("third", libraryImage())
	l.until("the third runs", running(third), third)
	if n := counted.snapshot()["rest.DownloadLibraryItem"]; n != 1 {
		t.Errorf("the descriptor was downloaded %d times, want once", n)
	}
	vm := inVCenter(t, ready)["team-a/third"]
	if vm.Config.Firmware != "efi" || vm.Config.GuestId != "vmwarePhoton64Guest" || vm.Config.Version != "vmx-19" {
		t.Errorf("firmware %s, guest %s, version %s; want those of the image", vm.Config.Firmware, vm.Config.GuestId, vm.Config.Version)
	}
}
