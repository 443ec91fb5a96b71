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
	// maxDisks, maxNetworks and maxProperties bound what a description lists: what a VM
	// of Slipway can have.
	maxDisks, maxNetworks, maxProperties = 256, 64, 256
	// maxName is the longest name that is listed, in bytes.
	maxName = 255
	// maxProse is how much of a text for people is shown, in bytes.
	maxProse = 256
	// maxCapacity is more than the largest disk of vSphere, in bytes: 1 PiB.
	maxCapacity = int64(1) << 50
)

// description is put together from what somebody else has written: all of it is bounded.
type description struct {
	vmv1alpha1.VirtualMachineImageStatus
	// omitted counts by kind what was left out.
	omitted map[string]int
}

// config describes all that is no list. A firmware or version that is not known here is
// not shown.
func (d *description) config(guestID, version, firmware string, boot *types.VirtualMachineBootOptions) {
	if name(guestID) {
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
	d.Disks = append(d.Disks, vmv1alpha1.VirtualMachineImageDisk{Name: prose(label, maxName), Capacity: Amount(capacity)})
}

func (d *description) network(label string) {
	switch {
	case slices.Contains(d.Networks, label): // of several cards
		return
	case len(d.Networks) == maxNetworks || !name(label):
		d.omit("networks")
		return
	}
	d.Networks = append(d.Networks, label)
}

// least finds the fewest characters that a value must have (VAppPropertyInfo.type).
var least = regexp.MustCompile(`^(?:string|password)\(([0-9]+)\.\.`)

// property lists one property. Whoever names it has to write its key, so that a key is
// listed whole, once, or not at all.
func (d *description) property(p *types.VAppPropertyInfo) {
	key := configspec.PropertyID(*p)
	if len(d.Properties) == maxProperties || !name(key) ||
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

func (d *description) omit(what string) {
	if d.omitted == nil {
		d.omitted = map[string]int{}
	}
	d.omitted[what]++
}

func (d *description) done() provider.ImageDescription {
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
		"%s are not listed: at most %d disks, %d networks and %d properties are, each with a name of its own of at most %d bytes in one line",
		strings.Join(out, " and "), maxDisks, maxNetworks, maxProperties, maxName)}
}

// Amount is a number of bytes as Kubernetes writes it, nil for none.
func Amount(bytes int64) *resource.Quantity {
	if bytes <= 0 {
		return nil
	}
	return resource.NewQuantity(bytes, resource.BinarySI)
}

// name is true for what can be listed as a name.
func name(text string) bool {
	return text != "" && len(text) <= maxName && bounds.Text(text, false) == ""
}

// prose is as much of a text for people as is shown.
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
