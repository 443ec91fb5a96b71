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

// Candidate is a VM that can be adopted, and the object that adopts it.
type Candidate struct {
	*Machine
	// Object adopts the VM.
	Object *vmv1alpha1.VirtualMachine
	// Notes are for the user: settings of the VM that are not in the object, and warnings.
	Notes []string
}

func (c *Candidate) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// Describe returns the object for a VM.
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
		c.note("the VM is also in the zones %s", strings.Join(place.Others, ", "))
	}
	c.size(spec)
	c.firmware(spec)
	c.adapters(spec, &place)
	c.disks(spec)
	c.others()
	if spec.PowerState == vmv1alpha1.Suspended {
		c.note("the VM is suspended: it is marked as adopted when it is powered on or off")
	}
	if s := m.VM.Snapshot; s != nil {
		c.note("the VM has %d snapshots, which are kept: its disks cannot be extended until they are deleted", snapshots(s.RootSnapshotList))
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

// size sets the cores per socket only if they are set explicitly in vSphere.
func (c *Candidate) size(spec *vmv1alpha1.VirtualMachineSpec) {
	config := c.VM.Config
	hw := config.Hardware
	cpu := &vmv1alpha1.VirtualMachineCPU{Sockets: hw.NumCPU}
	if cores := hw.NumCoresPerSocket; cores != nil && *cores > 1 && !isTrue(hw.AutoCoresPerSocket) && hw.NumCPU%*cores == 0 {
		cpu.Sockets, cpu.Cores = hw.NumCPU / *cores, *cores
	}
	guest := resource.NewQuantity(int64(hw.MemoryMB)*limits.Mebibyte, resource.BinarySI)
	memory := &vmv1alpha1.VirtualMachineMemory{Guest: guest}
	// An unset field would enable the feature where that has no cost.
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

// models maps the types of adapters that an interface supports.
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

// adapters describes the interfaces with their MAC addresses, which identify the adapters. A network is included
// only if the zone has a name for it, because other names would be rejected.
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
			c.note("interface %s stays on its network %s, which is not in the manifest", i.Name, known(on))
		}
		if i.Model == "" {
			c.note("interface %s keeps its model %s, which manifests do not support", i.Name, kind(nic))
		}
		network.Interfaces = append(network.Interfaces, i)
	}
}

func known(text string) string {
	if text == "" {
		return "which the account cannot see"
	}
	return text
}

// backing returns the identifier of an adapter's network.
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

// others adds notes about devices that are not in the manifest.
func (c *Candidate) others() {
	for _, d := range c.VM.Config.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualFloppy, *types.VirtualSerialPort, *types.VirtualParallelPort, *types.VirtualUSB, *types.VirtualPCIPassthrough,
			*types.VirtualSCSIPassthrough, *types.VirtualTPM, *types.VirtualNVDIMM, *types.VirtualWDT, *types.VirtualPrecisionClock:
			c.note("%s stays attached and is not in the manifest", kind(d))
		case *types.VirtualCdrom:
			if iso, ok := d.Backing.(*types.VirtualCdromIsoBackingInfo); ok && d.Connectable != nil && d.Connectable.Connected {
				c.note("the CD-ROM drive keeps %s and is not in the manifest", iso.FileName)
			}
		default:
			if _, sound := d.(types.BaseVirtualSoundCard); sound {
				c.note("%s stays attached and is not in the manifest", kind(d))
			}
		}
	}
}

// kind returns vSphere's type name of a device.
func kind(d any) string { return strings.TrimPrefix(fmt.Sprintf("%T", d), "*types.") }

func isTrue(b *bool) bool { return b != nil && *b }
