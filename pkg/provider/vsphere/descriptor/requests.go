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
	// maxNamed is the maximum number of settings in a message.
	maxNamed = 32
	// maxSetting is the maximum length of a setting's name in a message, in bytes.
	maxSetting = 64
)

// appliedConfig are the vmw:Config keys that govmomi converts, so that virtual machines get them. A deployment with
// its own configuration uses the descriptor only for disks, so all other keys have no effect.
var appliedConfig = []string{
	"bootOptions.efiSecureBootEnabled", "cpuAllocation.shares.level", "cpuAllocation.shares.shares", "cpuHotAddEnabled", "cpuHotRemoveEnabled",
	"firmware", "flags.vbsEnabled", "flags.vvtdEnabled", "memoryHotAddEnabled", "nestedHVEnabled", "powerOpInfo.powerOffType", "powerOpInfo.resetType",
	"powerOpInfo.standbyAction", "powerOpInfo.suspendType", "simultaneousThreads", "tools.afterPowerOn", "tools.afterResume", "tools.beforeGuestShutdown",
	"tools.beforeGuestStandby", "tools.syncTimeWithHost", "tools.syncTimeWithHostAllowed", "tools.toolsUpgradePolicy", "vPMCEnabled",
	"virtualICH7MPresent", "virtualSMCPresent",
}

// identityConfig is the vmw:Config key with the UUID of the exported virtual machine. It is ignored, because the
// UUID must be unique.
const identityConfig = "uuid"

// ordinaryItems are device types that are not reported although virtual machines do not get them from the image:
// devices that every virtual machine has, and devices that its own spec describes.
var ordinaryItems = []ovf.CIMResourceType{
	ovf.Processor, ovf.Memory, ovf.IdeController, ovf.ParallelScsiHba, ovf.EthernetAdapter, ovf.FloppyDrive, ovf.CdDrive, ovf.DvdDrive,
	ovf.DiskDrive, ovf.OtherStorage, ovf.UsbController, ovf.Graphics, sound,
}

// sound is the resource type of sound cards in vSphere's descriptors.
const sound ovf.CIMResourceType = 35

// specialSubtypes are subtypes of these types that are reported.
var specialSubtypes = []string{ovf.ResourceSubTypeNVDIMMController, ovf.ResourceSubTypeNVDIMMDevice, "sriovethernetcard"}

// ordinaryOthers are subtypes of other devices that are not reported.
var ordinaryOthers = []string{
	ovf.ResourceSubTypeVMCI, ovf.ResourceSubTypePS2Controller, ovf.ResourceSubTypeSIOController, ovf.ResourceSubTypePCIController, ovf.ResourceSubTypeKeyboard,
	ovf.ResourceSubTypePointingDevice, ovf.ResourceSubTypeSoundCardSB16, ovf.ResourceSubTypeSoundCardEnsoniq1371, ovf.ResourceSubTypeSoundCardHDAudio,
	ovf.ResourceSubTypeUSBEHCI, ovf.ResourceSubTypeUSBXHCI,
}

// restrictedKeys match advanced settings that an image cannot set, because users cannot set them either: guest
// data, channels between guest and host, the host's remote console, devices, shares and network filters. vCenter's
// own clients ask the user before they apply such settings.
var restrictedKeys = regexp.MustCompile(`(?i)^(guestinfo\.|guest_rpc\.|isolation\.|remotedisplay\.|pcipassthru|sched\.|vmsafe\.|ethernet[0-9]+\.filter)`)

// hardeningKeys match settings that disable a channel. They are applied if their value is true.
var hardeningKeys = regexp.MustCompile(`(?i)^isolation\..*\.disable$`)

func isRestricted(key, value string) bool {
	return restrictedKeys.MatchString(key) && (!hardeningKeys.MatchString(key) || !strings.EqualFold(value, "true"))
}

// isDropped reports whether an advanced setting of the image is not applied. The NVRAM setting is dropped because
// it is a path in the descriptor; the file itself is copied.
func isDropped(o types.BaseOptionValue) bool {
	v := o.GetOptionValue()
	return observe.IsSlipwayKey(v.Key) || isNVRAM(o) || isRestricted(v.Key, fmt.Sprint(v.Value))
}

// describeUnapplied lists the descriptor's settings, devices and required sections that virtual machines of the image do
// not get. It returns an empty string if there are none. The value false requests nothing.
func describeUnapplied(system *ovf.VirtualSystem, sections []string) string {
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
		if isRestricted(c.Key, c.Value) {
			advanced = append(advanced, c.Key)
		}
	}
	for i := range hw.Item {
		if kind, missing := unappliedDevice(&hw.Item[i]); missing {
			devices = append(devices, kind)
		}
	}
	var parts []string
	for _, p := range []struct {
		of  string
		all []string
	}{{"settings", settings}, {"advanced settings", advanced}, {"devices", devices}, {"sections", sections}} {
		if len(p.all) > 0 {
			parts = append(parts, p.of+" "+listNames(p.all))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "virtual machines of this image are created without some of its settings: " + strings.Join(parts, "; ") + ". If they need it, set the corresponding fields of the VirtualMachine. Do not use the image if there are no such fields"
}

// unappliedDevice returns the kind of a hardware item. missing is true if virtual machines do not get the item.
func unappliedDevice(item *ovf.ResourceAllocationSettingData) (kind string, missing bool) {
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

// listNames formats names without duplicates.
func listNames(all []string) string {
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

// describeDefaulted names the image's configurations that cannot be chosen. It returns an empty string if there are
// none.
func describeDefaulted(chosen string, others []string) string {
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("virtual machines get the image's default configuration %s; choosing %s is not supported", prose(chosen, maxSetting), listNames(others))
}
