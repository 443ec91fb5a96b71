// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// Candidate is a VM that can be taken over, and the object that does it.
type Candidate struct {
	*Machine
	// Object takes it over.
	Object *vmv1alpha1.VirtualMachine
	// Notes tell people what of the VM is not in the object, or is to be known.
	Notes []string
}

func (c *Candidate) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// Describe makes the object of a VM.
func Describe(m *Machine, namespace, name string, place Place) *Candidate {
	c := &Candidate{Machine: m, Object: &vmv1alpha1.VirtualMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}}
	spec := &c.Object.Spec
	spec.InstanceUUID = strings.ToLower(m.VM.Config.InstanceUuid)
	spec.PowerState = observe.PowerStateOf(m.VM)
	if place.Zone != nil {
		spec.Zone = place.Zone.Name
	}
	if len(place.Others) > 0 {
		c.note("it is also in the zones %s", strings.Join(place.Others, ", "))
	}
	c.size(spec)
	c.firmware(spec)
	c.adapters(spec, &place)
	c.disks(spec)
	c.others()
	if spec.PowerState == vmv1alpha1.Suspended {
		c.note("it is suspended: it is marked as taken over when it runs or is off")
	}
	if s := m.VM.Snapshot; s != nil {
		c.note("it has %d snapshots, which stay: its disks do not grow as long as it has", snapshots(s.RootSnapshotList))
	}
	return c
}

func snapshots(trees []types.VirtualMachineSnapshotTree) int {
	n := len(trees)
	for _, t := range trees {
		n += snapshots(t.ChildSnapshotList)
	}
	return n
}

// size names the cores per socket only where somebody has chosen them.
func (c *Candidate) size(spec *vmv1alpha1.VirtualMachineSpec) {
	config := c.VM.Config
	hw := config.Hardware
	cpu := &vmv1alpha1.VirtualMachineCPU{Sockets: hw.NumCPU}
	if cores := hw.NumCoresPerSocket; cores != nil && *cores > 1 && !isTrue(hw.AutoCoresPerSocket) && hw.NumCPU%*cores == 0 {
		cpu.Sockets, cpu.Cores = hw.NumCPU / *cores, *cores
	}
	guest := resource.NewQuantity(int64(hw.MemoryMB)*limits.Mebibyte, resource.BinarySI)
	memory := &vmv1alpha1.VirtualMachineMemory{Guest: guest}
	// Unset would be on where that costs nothing.
	cpuHotAdd, memoryHotAdd := isTrue(config.CpuHotAddEnabled), isTrue(config.MemoryHotAddEnabled)
	cpu.HotAddEnabled, memory.HotAddEnabled = &cpuHotAdd, &memoryHotAdd
	spec.CPU, spec.Memory = cpu, memory
}

func (c *Candidate) firmware(spec *vmv1alpha1.VirtualMachineSpec) {
	config := c.VM.Config
	fw := &vmv1alpha1.VirtualMachineFirmware{UUID: strings.ToLower(config.Uuid), Bootloader: vmv1alpha1.BootloaderBIOS}
	if config.Firmware == string(types.GuestOsDescriptorFirmwareTypeEfi) {
		fw.Bootloader = vmv1alpha1.BootloaderEFI
		if config.BootOptions != nil && isTrue(config.BootOptions.EfiSecureBootEnabled) {
			fw.SecureBoot = config.BootOptions.EfiSecureBootEnabled
		}
	}
	spec.Firmware = fw
}

// models are those of adapters that an interface can name.
func model(card types.BaseVirtualEthernetCard) string {
	switch card.(type) {
	case *types.VirtualVmxnet3:
		return "vmxnet3"
	case *types.VirtualE1000:
		return "e1000"
	case *types.VirtualE1000e:
		return "e1000e"
	case *types.VirtualSriovEthernetCard:
		return "sriov"
	}
	return ""
}

// adapters lists them with their addresses, by which an interface finds its own. A network
// is named only as its zone names it: another name would be refused.
func (c *Candidate) adapters(spec *vmv1alpha1.VirtualMachineSpec, place *Place) {
	network := &vmv1alpha1.VirtualMachineNetworkSpec{}
	spec.Network = network
	cards := observe.EthernetCards(c.VM)
	if len(cards) == 0 {
		network.Disabled = true
		return
	}
	for n, nic := range cards {
		card := nic.GetVirtualEthernetCard()
		i := vmv1alpha1.VirtualMachineNetworkInterface{
			Name: fmt.Sprintf("eth%d", n), Model: model(nic), MACAddress: strings.ToLower(card.MacAddress),
		}
		on := c.Networks[backing(card.Backing)]
		if i.Network = place.network(on); i.Network == "" {
			c.note("interface %s stays on its network, %s, which the manifest does not name", i.Name, known(on))
		}
		if i.Model == "" {
			c.note("interface %s keeps its model %s, which a manifest cannot name", i.Name, kind(nic))
		}
		network.Interfaces = append(network.Interfaces, i)
	}
}

func known(text string) string {
	if text == "" {
		return "which the account does not see"
	}
	return text
}

// backing is what the network of an adapter is known by.
func backing(b types.BaseVirtualDeviceBackingInfo) string {
	switch b := b.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if b.Network != nil {
			return b.Network.Value
		}
		return b.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return b.Port.PortgroupKey
	}
	return ""
}

// others names devices that a manifest does not have. They stay.
func (c *Candidate) others() {
	for _, d := range c.VM.Config.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualFloppy, *types.VirtualSerialPort, *types.VirtualParallelPort, *types.VirtualUSB, *types.VirtualPCIPassthrough,
			*types.VirtualSCSIPassthrough, *types.VirtualTPM, *types.VirtualNVDIMM, *types.VirtualWDT, *types.VirtualPrecisionClock:
			c.note("%s stays, and is not in the manifest", kind(d))
		case *types.VirtualCdrom:
			if iso, ok := d.Backing.(*types.VirtualCdromIsoBackingInfo); ok && d.Connectable != nil && d.Connectable.Connected {
				c.note("its CD-ROM drive keeps %s, and is not in the manifest", iso.FileName)
			}
		default:
			if _, sound := d.(types.BaseVirtualSoundCard); sound {
				c.note("%s stays, and is not in the manifest", kind(d))
			}
		}
	}
}

// kind is what vSphere calls a device.
func kind(d any) string { return strings.TrimPrefix(fmt.Sprintf("%T", d), "*types.") }

func isTrue(b *bool) bool { return b != nil && *b }
