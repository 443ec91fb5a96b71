// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

const (
	// maxNamed bounds the settings that are named in a message.
	maxNamed = 32
	// maxSetting is how much of the name of a setting is shown, in bytes.
	maxSetting = 64
)

// appliedConfig are the keys of vmw:Config that the library translates, and that a virtual
// machine gets therefore. A deployment with a configuration of its own uses the descriptor for
// its disks only, so that any other key has no effect.
var appliedConfig = []string{
	"bootOptions.efiSecureBootEnabled", "cpuAllocation.shares.level", "cpuAllocation.shares.shares", "cpuHotAddEnabled", "cpuHotRemoveEnabled",
	"firmware", "flags.vbsEnabled", "flags.vvtdEnabled", "memoryHotAddEnabled", "nestedHVEnabled", "powerOpInfo.powerOffType", "powerOpInfo.resetType",
	"powerOpInfo.standbyAction", "powerOpInfo.suspendType", "simultaneousThreads", "tools.afterPowerOn", "tools.afterResume", "tools.beforeGuestShutdown",
	"tools.beforeGuestStandby", "tools.syncTimeWithHost", "tools.syncTimeWithHostAllowed", "tools.toolsUpgradePolicy", "vPMCEnabled",
	"virtualICH7MPresent", "virtualSMCPresent",
}

// identityConfig is the key of vmw:Config with the UUID of the exported virtual machine, which
// another virtual machine must not have. It is no request.
const identityConfig = "uuid"

// ordinaryItems are the types of devices that are not named although no virtual machine gets them
// from its image: parts of every virtual machine, and those that its own spec describes.
var ordinaryItems = []ovf.CIMResourceType{
	ovf.Processor, ovf.Memory, ovf.IdeController, ovf.ParallelScsiHba, ovf.EthernetAdapter, ovf.FloppyDrive, ovf.CdDrive, ovf.DvdDrive,
	ovf.DiskDrive, ovf.OtherStorage, ovf.UsbController, ovf.Graphics, sound,
}

// sound is the resource type that descriptors of vSphere have for sound cards.
const sound ovf.CIMResourceType = 35

// specialSubtypes are subtypes of these types that are named.
var specialSubtypes = []string{ovf.ResourceSubTypeNVDIMMController, ovf.ResourceSubTypeNVDIMMDevice, "sriovethernetcard"}

// ordinaryOthers are subtypes of other devices that are not named.
var ordinaryOthers = []string{
	ovf.ResourceSubTypeVMCI, ovf.ResourceSubTypePS2Controller, ovf.ResourceSubTypeSIOController, ovf.ResourceSubTypePCIController, ovf.ResourceSubTypeKeyboard,
	ovf.ResourceSubTypePointingDevice, ovf.ResourceSubTypeSoundCardSB16, ovf.ResourceSubTypeSoundCardEnsoniq1371, ovf.ResourceSubTypeSoundCardHDAudio,
	ovf.ResourceSubTypeUSBEHCI, ovf.ResourceSubTypeUSBXHCI,
}

// restrictedKeys are the advanced settings that an image cannot give to a virtual machine,
// because its users cannot give them either: data for the guest, channels between guest and
// host, a remote console of the host, its devices, its shares, and filters of its network.
// vCenter's own clients ask the user before they apply any setting of this kind.
var restrictedKeys = regexp.MustCompile(`(?i)^(guestinfo\.|guest_rpc\.|isolation\.|remotedisplay\.|pcipassthru|sched\.|vmsafe\.|ethernet[0-9]+\.filter)`)

// hardeningKeys close a channel. They are applied if their value is true.
var hardeningKeys = regexp.MustCompile(`(?i)^isolation\..*\.disable$`)

func restricted(key, value string) bool {
	return restrictedKeys.MatchString(key) && (!hardeningKeys.MatchString(key) || !strings.EqualFold(value, "true"))
}

// isDropped reports whether an advanced setting of the image is not given to virtual machines.
// That of the NVRAM is a path in the descriptor, not on a datastore; its file is copied.
func isDropped(o types.BaseOptionValue) bool {
	v := o.GetOptionValue()
	return observe.Ours(v.Key) || isNVRAM(o) || restricted(v.Key, fmt.Sprint(v.Value))
}

// notApplied names what the descriptor requests and what no virtual machine of the image gets;
// it is empty if nothing is. The value false requests nothing. sections are those without effect.
func notApplied(system *ovf.VirtualSystem, sections []string) string {
	hw := &ovf.VirtualHardwareSection{}
	if len(system.VirtualHardware) > 0 {
		hw = &system.VirtualHardware[0]
	}
	var settings, advanced, devices []string
	for i := range hw.Config {
		c := &hw.Config[i]
		if !slices.Contains(appliedConfig, c.Key) && c.Key != identityConfig && !strings.EqualFold(c.Value, "false") {
			settings = append(settings, c.Key)
		}
	}
	for i := range hw.ExtraConfig {
		c := &hw.ExtraConfig[i]
		if restricted(c.Key, c.Value) {
			advanced = append(advanced, c.Key)
		}
	}
	for i := range hw.Item {
		if kind, named := namedDevice(&hw.Item[i]); named {
			devices = append(devices, kind)
		}
	}
	var parts []string
	for _, p := range []struct {
		of  string
		all []string
	}{{"settings", settings}, {"advanced settings", advanced}, {"devices", devices}, {"sections", sections}} {
		if len(p.all) > 0 {
			parts = append(parts, p.of+" "+named(p.all))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "virtual machines of this image are created without what it requests: " + strings.Join(parts, "; ") + ". If they need it, set the corresponding fields of the VirtualMachine; do not use the image if there are none"
}

// namedDevice returns what an item of the hardware is, and whether a virtual machine lacks it.
func namedDevice(item *ovf.ResourceAllocationSettingData) (kind string, named bool) {
	if item.ResourceType == nil {
		return "", false
	}
	if item.ResourceSubType != nil {
		kind = strings.ToLower(strings.TrimSpace(*item.ResourceSubType))
	}
	switch {
	case slices.Contains(specialSubtypes, kind):
		return kind, true
	case slices.Contains(ordinaryItems, *item.ResourceType), slices.Contains(ordinaryOthers, kind):
		return "", false
	case kind == "":
		return item.ElementName, true
	}
	return kind, true
}

// named lists the names, each once.
func named(all []string) string {
	for i := range all {
		all[i] = prose(all[i], maxSetting)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxNamed {
		return fmt.Sprintf("%s and %d others", strings.Join(all[:maxNamed], ", "), len(all)-maxNamed)
	}
	return strings.Join(all, ", ")
}

// defaulted names the configurations of the image that cannot be chosen; it is empty if there is none.
func defaulted(chosen string, others []string) string {
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("virtual machines get the default configuration of the image, %s; a choice of %s is not supported", prose(chosen, maxSetting), named(others))
}
