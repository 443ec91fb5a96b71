// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
)

const (
	// maxDisks, maxNetworks and maxProperties limit the lists of a description to the limits of a VM.
	maxDisks, maxNetworks, maxProperties = 256, 64, 256
	// maxName is the maximum length of a listed name, in bytes.
	maxName = 255
	// maxProse is the maximum length of a descriptive text, in bytes.
	maxProse = 256
	// maxCapacity is larger than the largest vSphere disk: 1 PiB, in bytes.
	maxCapacity = int64(1) << 50
)

// description collects values from a descriptor. Its size is limited, because the descriptor is not trusted.
type description struct {
	vmv1alpha1.VirtualMachineImageStatus
	// omitted counts the omitted entries by kind.
	omitted map[string]int
}

// config sets all fields that are not lists. It leaves out an unknown firmware or version.
func (d *description) config(guestID, version, firmware string, boot *types.VirtualMachineBootOptions) {
	if isName(guestID) {
		d.GuestID = guestID
	}
	switch types.GuestOsDescriptorFirmwareType(strings.ToLower(firmware)) {
	case types.GuestOsDescriptorFirmwareTypeBios:
		d.Firmware = vmv1alpha1.BootloaderBIOS
	case types.GuestOsDescriptorFirmwareTypeEfi:
		d.Firmware = vmv1alpha1.BootloaderEFI
	}
	if boot != nil && boot.EfiSecureBootEnabled != nil {
		secure := *boot.EfiSecureBootEnabled
		d.SecureBoot = &secure
	}
	if digits, ok := strings.CutPrefix(newest(version), "vmx-"); ok {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
			d.HardwareVersion = int32(n)
		}
	}
}

func (d *description) disk(label string, capacity int64) {
	if len(d.Disks) == maxDisks {
		d.omit("disks")
		return
	}
	d.Disks = append(d.Disks, vmv1alpha1.VirtualMachineImageDisk{Name: prose(label, maxName), Capacity: ByteQuantity(capacity)})
}

func (d *description) network(label string) {
	switch {
	case slices.Contains(d.Networks, label): // Several adapters may use it.
		return
	case len(d.Networks) == maxNetworks || !isName(label):
		d.omit("networks")
		return
	}
	d.Networks = append(d.Networks, label)
}

// least matches the minimum number of characters of a value (VAppPropertyInfo.type).
var least = regexp.MustCompile(`^(?:string|password)\(([0-9]+)\.\.`)

// property adds a property. Users must be able to set the property by its key, so a key that is too long or not
// unique is omitted.
func (d *description) property(p *types.VAppPropertyInfo) {
	key := configspec.PropertyID(*p)
	if len(d.Properties) == maxProperties || !isName(key) ||
		slices.ContainsFunc(d.Properties, func(have vmv1alpha1.VirtualMachineImageProperty) bool { return have.Key == key }) {
		d.omit("properties")
		return
	}
	settable := p.UserConfigurable != nil && *p.UserConfigurable
	chars := least.FindStringSubmatch(p.Type)
	value := p.DefaultValue
	if strings.HasPrefix(p.Type, "password") {
		value = ""
	}
	d.Properties = append(d.Properties, vmv1alpha1.VirtualMachineImageProperty{
		Key: key, Type: prose(p.Type, maxProse), Label: prose(p.Label, maxName), Description: prose(p.Description, maxProse),
		Default: prose(value, maxProse), UserConfigurable: settable,
		Required: settable && p.DefaultValue == "" && chars != nil && strings.Trim(chars[1], "0") != "",
	})
}

func (d *description) omit(kind string) {
	if d.omitted == nil {
		d.omitted = map[string]int{}
	}
	d.omitted[kind]++
}

func (d *description) result() provider.ImageDescription {
	var out []string
	for _, what := range []string{"disks", "networks", "properties"} {
		if n := d.omitted[what]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, what))
		}
	}
	if len(out) == 0 {
		return provider.ImageDescription{Status: d.VirtualMachineImageStatus}
	}
	return provider.ImageDescription{Status: d.VirtualMachineImageStatus, Incomplete: fmt.Sprintf(
		"%s are not listed: at most %d disks, %d networks and %d properties with unique one-line names of at most %d bytes are listed",
		strings.Join(out, " and "), maxDisks, maxNetworks, maxProperties, maxName)}
}

// ByteQuantity returns a number of bytes as a quantity. It returns nil if the number is not positive.
func ByteQuantity(bytes int64) *resource.Quantity {
	if bytes <= 0 {
		return nil
	}
	return resource.NewQuantity(bytes, resource.BinarySI)
}

// isName reports whether a text can be listed as a name.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && bounds.Text(text, false) == ""
}

// prose returns a text for display, truncated to most bytes.
func prose(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || bounds.Text(string(r), false) == "" {
			return r
		}
		return utf8.RuneError
	}, text)
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	end := most - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
