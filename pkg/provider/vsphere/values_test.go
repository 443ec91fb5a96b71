// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// This is the example of docs/how-to/networks.md. cloud-init must assign the addresses to the right adapters.
func TestCloudInit_ReceivesTheMACAddresses(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("metadata-"+name, image)
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
			checkNoOperation(t, p, req)
			vm := inVCenter(t, ready)["team-a/told-"+name]
			raw, err := base64.StdEncoding.DecodeString(observe.ExtraConfig(&vm, "guestinfo.metadata"))
			if err != nil {
				t.Fatal(err)
			}
			var metadata struct {
				Network struct {
					Ethernets map[string]struct{ Match struct{ MACAddress string } }
				}
			}
			if err := json.Unmarshal(raw, &metadata); err != nil {
				t.Fatalf("metadata %q: %v", raw, err)
			}
			for n, card := range observe.EthernetCards(&vm) {
				name := []string{"eth0", "eth1"}[n]
				if got, want := metadata.Network.Ethernets[name].Match.MACAddress, card.GetVirtualEthernetCard().MacAddress; want == "" || got != want {
					t.Errorf("cloud-init matches %s by %q, want the adapter's MAC address %q", name, got, want)
				}
			}
		})
	}
}

func TestAdoption_KeepsNameAndAdapters(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	addNetwork(t, ready, "prod")
	vm, id := createVM(t, ready, "/DC0/vm/slipway", "manual")
	pg, err := find.NewFinder(vm.Client()).Network(t.Context(), "/DC0/network/prod")
	if err != nil {
		t.Fatal(err)
	}
	backing, err := pg.EthernetCardBackingInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := vm.AddDevice(t.Context(), &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: types.VirtualEthernetCard{
			VirtualDevice: types.VirtualDevice{Key: -1, Backing: backing}}}}); err != nil {
			t.Fatal(err)
		}
	}
	before := adaptersOf(t, vm)
	req := newRequest("adopted", nil)
	req.VM.Spec.InstanceUUID = id
	l.until("the VM is adopted and runs", isRunning(req), req)
	checkNoOperation(t, p, req)
	if after := adaptersOf(t, vm); len(before) != 3 || strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("adapters before:\n%s\nand after the adoption:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if name, err := vm.ObjectName(t.Context()); err != nil || name != "manual" {
		t.Errorf("the VM's name is %q (%v), want manual, unchanged", name, err)
	}
	// Settings that are added to the spec later are applied.
	req.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: "prod"}}}
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off and synchronized", func() bool {
		return req.VM.Status.PowerState == vmv1alpha1.PoweredOff && len(req.VM.Status.RestartRequired) == 0 &&
			isTrue(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) && isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced)
	}, req)
	after := adaptersOf(t, vm)
	if len(after) != 3 || after[0] == before[0] || after[1] != before[1] || after[2] != before[2] {
		t.Errorf("adapters before:\n%s\nand after the first was given a network:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// adaptersOf returns the MAC address and the network of each adapter of a VM, sorted.
func adaptersOf(t *testing.T, vm *object.VirtualMachine) []string {
	t.Helper()
	var out []string
	for _, d := range adapters(t, vm) {
		card := d.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		network := ""
		switch b := card.Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			network = b.DeviceName
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			network = b.Port.PortgroupKey
		}
		out = append(out, card.MacAddress+" on "+network)
	}
	slices.Sort(out)
	return out
}

// createTemplate creates a template like an administrator, and an image of it.
func createTemplate(t *testing.T, vm *object.VirtualMachine, name string, spec types.VirtualMachineConfigSpec) *vmv1alpha1.VirtualMachineImage {
	t.Helper()
	task, err := vm.Reconfigure(t.Context(), spec)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err == nil {
		err = vm.MarkAsTemplate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	image := templateImage()
	image.Spec.Template.InventoryPath = "/DC0/vm/templates/" + name
	return image
}

// Three CPUs are not possible with the template's two cores per socket.
func TestCoresPerSocket_AreNotCopiedFromTheTemplate(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	vm, _ := createVM(t, ready, "/DC0/vm/templates", "two-by-two")
	image := createTemplate(t, vm, "two-by-two", types.VirtualMachineConfigSpec{NumCPUs: 4, NumCoresPerSocket: ptr(int32(2))})
	for name, cpu := range map[string]vmv1alpha1.VirtualMachineCPU{"asked": {Sockets: 3, Cores: 1, Threads: 1}, "left": {Sockets: 3}} {
		req := newRequest(name, image)
		req.Effective.CPU = &cpu
		l.until("the VM runs", isRunning(req), req)
		checkNoOperation(t, p, req)
		if got := hardwareOf(t, l, req); got.NumCPU != 3 {
			t.Errorf("%s: %d CPUs, want 3", name, got.NumCPU)
		}
	}
}

func hardwareOf(t *testing.T, l *loop, req *provider.Request) types.VirtualHardware {
	t.Helper()
	vm := recordOf(t, l.p, req)
	return vm.Config.Hardware
}

// recordOf returns the state of req's VM in the inventory.
func recordOf(t *testing.T, p *Provider, req *provider.Request) *mo.VirtualMachine {
	t.Helper()
	vm := p.inventory.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
	if vm == nil || vm.Config == nil {
		t.Fatalf("the inventory does not have %s", req.VM.Name)
	}
	return vm
}

func TestCreate_SetsManagedByAndAnnotation(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("whose-"+name, image)
			l.until("the VM runs", isRunning(req), req)
			vm := inVCenter(t, ready)["team-a/whose-"+name]
			if m := vm.Config.ManagedBy; m == nil || m.ExtensionKey != "dev.slipway" || m.Type != "VirtualMachine" {
				t.Errorf("managed by %+v, want dev.slipway", m)
			}
			if want := "team-a/whose-" + name; !strings.Contains(vm.Config.Annotation, want) {
				t.Errorf("notes %q, want %s in them", vm.Config.Annotation, want)
			}
			if got := observe.ExtraConfig(&vm, "disk.enableUUID"); got != "TRUE" {
				t.Errorf("disk.enableUUID = %q, want TRUE: without it the guest cannot identify disks", got)
			}
		})
	}
}
