// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// The template's network may not exist at the clone's location. The clone must never have it.
func TestClone_HasItsOwnAdaptersFromTheStart(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	addNetwork(t, ready, "prod")
	vm, _ := createVM(t, ready, "/DC0/vm/templates", "three-adapters")
	for range 2 {
		if err := vm.AddDevice(t.Context(), &types.VirtualE1000{VirtualEthernetCard: types.VirtualEthernetCard{
			VirtualDevice: types.VirtualDevice{Key: -1, Backing: &types.VirtualEthernetCardNetworkBackingInfo{
				VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	image := createTemplate(t, vm, "three-adapters", types.VirtualMachineConfigSpec{})
	for name, network := range map[string]*vmv1alpha1.VirtualMachineNetworkSpec{
		"one":  {Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: "prod"}}},
		"none": {Disabled: true},
	} {
		req := newRequest(name, image)
		req.Effective.Network = network
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		before := counted.snapshot()["ReconfigVM_Task"]
		l.until("the VM is configured", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) }, req)
		if n := counted.snapshot()["ReconfigVM_Task"] - before; n != 1 {
			t.Errorf("%s: %d reconfigurations after the clone, want one, which removes the mark of the attempt", name, n)
		}
		cards := adaptersOf(t, object.NewVirtualMachine(vm.Client(), types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}))
		if len(cards) != len(network.Interfaces) || len(cards) == 1 && !strings.Contains(cards[0], " on dvportgroup") {
			t.Errorf("%s: adapters %q, want %d", name, cards, len(network.Interfaces))
		}
	}
}

// An image is replaced by renaming the template and creating another one with its name.
func TestTemplate_IsFoundAgainAfterItsReplacement(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	golden := func(release string) (*object.VirtualMachine, *vmv1alpha1.VirtualMachineImage) {
		vm, _ := createVM(t, ready, "/DC0/vm/templates", "golden", &types.OptionValue{Key: "release", Value: release})
		return vm, createTemplate(t, vm, "golden", types.VirtualMachineConfigSpec{})
	}
	old, image := golden("old")
	before := newRequest("before", image)
	l.until("a VM of the old template runs", isRunning(before), before)
	task, err := old.Rename(t.Context(), "golden-2025")
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	replacement, image := golden("new")
	if source, err := p.resolver.Source(t.Context(), image); err != nil || source.Template != replacement.Reference() {
		t.Fatalf("the image is %v, %v; want the new template %v", source.Template, err, replacement.Reference())
	}
	after := newRequest("after", image)
	l.until("a VM of the new template runs", isRunning(after), after)
	for req, want := range map[*provider.Request]string{before: "old", after: "new"} {
		vm := p.inventory.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
		if got := observe.ExtraConfig(vm, "release"); got != want {
			t.Errorf("%s was created from the %s template, want the %s one", req.VM.Name, got, want)
		}
	}
}

// libraries returns a second client of the content libraries.
func libraries(t *testing.T, ready vcenter.Ready) *library.Manager {
	t.Helper()
	c := rest.NewClient(admin(t, ready).Client)
	if err := c.Login(t.Context(), url.UserPassword(vcenter.DefaultUsername, vcenter.DefaultPassword)); err != nil {
		t.Fatal(err)
	}
	return library.NewManager(c)
}

// addItem adds an empty item to the content library.
func addItem(t *testing.T, ready vcenter.Ready, name, itemType string) {
	t.Helper()
	m := libraries(t, ready)
	found, err := m.FindLibrary(t.Context(), library.Find{Name: "slipway"})
	if err != nil || len(found) != 1 {
		t.Fatalf("content libraries %v, %v; want one", found, err)
	}
	if _, err := m.CreateLibraryItem(t.Context(), library.Item{Name: name, Type: itemType, LibraryID: found[0]}); err != nil {
		t.Fatal(err)
	}
}

func TestImages_ReportItemsThatCannotBeDeployed(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	addItem(t, ready, "installer", library.ItemTypeISO)
	addItem(t, ready, "golden", library.ItemTypeVMTX)
	eventually(t, "the inventory is read", p.inventory.Synced)
	for item, want := range map[string]string{
		"installer": `has type "iso", but only types "ovf" and "vm-template" can be deployed`,
		"golden":    `vCenter returned no template for item "golden"`,
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
			t.Errorf("%s: ImageReady = %+v, want %s", item, c, want)
		}
	}
	if n := counted.snapshot()["rest.DeployLibraryItem"]; n != 0 {
		t.Errorf("%d deployments were attempted", n)
	}
}

func TestDescriptor_IsReadOnceForAllDeployments(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	first, second := newRequest("first", libraryImage()), newRequest("second", libraryImage())
	l.until("both VMs run", isRunning(first, second), first, second)
	third := newRequest("third", libraryImage())
	l.until("the third VM runs", isRunning(third), third)
	if n := counted.snapshot()["rest.DownloadLibraryItem"]; n != 1 {
		t.Errorf("the descriptor was downloaded %d times, want once", n)
	}
	vm := inVCenter(t, ready)["team-a/third"]
	if vm.Config.Firmware != "efi" || vm.Config.GuestId != "vmwarePhoton64Guest" || vm.Config.Version != "vmx-19" {
		t.Errorf("firmware %s, guest %s, version %s; want the image's values", vm.Config.Firmware, vm.Config.GuestId, vm.Config.Version)
	}
}

// A deployment with its own configuration may use only the disks of the OVF descriptor.
func TestDeployment_UsesTheImageForUnsetFields(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for _, disksOnly := range []string{"true", "false"} {
		control(t, ready, http.MethodPut, "/deploy?disksOnly="+disksOnly)
		p, _ := startProvider(t, ready, nil)
		l := newLoop(t, p)
		req := newRequest("like-"+disksOnly, libraryImage())
		newer := newRequest("newer-"+disksOnly, libraryImage())
		newer.Effective.MinHardwareVersion = 20
		appliance := newRequest("appliance-"+disksOnly, libraryImage())
		appliance.Image.Spec.ContentLibrary.Item = "ubuntu-24.04-appliance"
		appliance.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "secret"}}
		appliance.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"hostname": "app"}}
		l.until("all VMs run", isRunning(req, newer, appliance), req, newer, appliance)
		appliance.Bootstrap = nil
		vms := inVCenter(t, ready)
		for name, version := range map[string]string{"like-": "vmx-19", "newer-": "vmx-20", "appliance-": "vmx-19"} {
			c := vms["team-a/"+name+disksOnly].Config
			if c.Firmware != "efi" || c.GuestId != "vmwarePhoton64Guest" || c.Version != version {
				t.Errorf("disks only %s, %s: firmware %s, guest %s, version %s; want efi, vmwarePhoton64Guest, %s", disksOnly, name, c.Firmware, c.GuestId, c.Version, version)
			}
		}
		got := map[string]string{}
		if v := vms["team-a/appliance-"+disksOnly].Config.VAppConfig; v != nil {
			for _, p := range v.GetVmConfigInfo().Property {
				got[p.Id] = p.DefaultValue + "/" + p.Value
			}
		}
		want := map[string]string{"instance-id": "id-ovf/", "hostname": "ubuntuguest/app", "user-data": "/"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("disks only %s: OVF properties, default/value (-want +got):\n%s", disksOnly, diff)
		}
		for _, r := range []*provider.Request{req, newer, appliance} {
			checkNoOperation(t, p, r)
		}
	}
}

// This is the example of docs/how-to/networks.md. The guest names its adapters like udev, and its image has OVF
// properties, which cloud-init prefers.
func TestCloudInit_ConfiguresTheAddressesOfTheSpec(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	control(t, ready, http.MethodPut, "/guests?cloudInit=true")
	control(t, ready, http.MethodPut, "/deploy?disksOnly=false")
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("seeded", libraryImage())
	req.Image.Spec.ContentLibrary.Item = "ubuntu-24.04-appliance"
	req.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}}
	req.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}
	req.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{
		Nameservers: []string{"192.0.2.53"},
		Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{
			{Name: "eth0", Addresses: []string{"192.0.2.5/24"}, Gateway4: "192.0.2.1"},
			{Name: "eth1", Network: "VM Network", Model: "e1000e", DHCP4: ptr(true)},
		},
	}
	l.until("the VM runs", isRunning(req), req)
	st := req.VM.Status.Network
	if st.HostName != "seeded" || st.PrimaryIP4 != "192.0.2.5" || len(st.Interfaces) != 2 || len(st.Interfaces[1].IPAddresses) == 0 {
		t.Errorf("network = %+v, want host name seeded, 192.0.2.5, and an address by DHCP for eth1", st)
	}
	checkNoOperation(t, p, req)
}

// Before API version 8.0.2.0 a deployment cannot specify a configuration, so the VM would have no identity.
func TestImages_RequireANewVCenterForLibraryItems(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t, withVersion("8.0.1.0"))
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	library, clone := newRequest("library", libraryImage()), newRequest("clone", templateImage())
	var c *metav1.Condition
	l.until("the image is refused and the template is cloned", func() bool {
		c = meta.FindStatusCondition(library.VM.Status.Conditions, vmv1alpha1.ConditionImageReady)
		return c != nil && c.Status == metav1.ConditionFalse && isRunning(clone)()
	}, library, clone)
	if !strings.Contains(c.Message, "8.0.2.0") || !strings.Contains(c.Message, "8.0.1.0") {
		t.Errorf("ImageReady = %+v, want both versions", c)
	}
	if n := counted.snapshot()["rest.DeployLibraryItem"]; n != 0 {
		t.Errorf("%d deployments were attempted", n)
	}
}
