// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// The functions below format values so that equal values have equal texts. An unset value is formatted as the empty
// string.

// Count formats a number.
func Count(n int32) string { return strconv.FormatInt(int64(n), 10) }

// Bytes formats an amount of memory or of a disk in binary units: 4096 MiB is 4Gi.
func Bytes(n int64) string {
	format := resource.BinarySI
	if n%1024 != 0 {
		format = resource.DecimalSI
	}
	return resource.NewQuantity(n, format).String()
}

// Flag formats a boolean.
func Flag(on bool) string { return strconv.FormatBool(on) }

// Disk formats a disk by its size in bytes and its controller.
func Disk(size int64, controller string) string {
	if controller == "" {
		return Bytes(size)
	}
	return Bytes(size) + " on " + controller
}

// Drive formats a CD-ROM drive and its file.
func Drive(iso string, connected bool) string {
	switch {
	case iso == "":
		return "CD-ROM, empty"
	case !connected:
		return "CD-ROM, ejected: " + iso
	}
	return "CD-ROM: " + iso
}

// PrintClaim formats the disk of a claim.
func PrintClaim(name string) string { return "claim " + name }

// Adapter formats a network adapter. Unknown parts are omitted.
func Adapter(model, network, mac string) string {
	out := model
	if network != "" {
		out += " on " + network
	}
	if mac != "" {
		out += " " + strings.ToLower(mac)
	}
	return strings.TrimSpace(out)
}

// List formats a list whose order does not matter.
func List(items []string) string {
	return strings.Join(slices.Sorted(slices.Values(items)), ", ")
}

func optional(n *int32) string {
	if n == nil {
		return ""
	}
	return Count(*n)
}

// dimension formats a dimension of the CPU topology. 0 means 1.
func dimension(n int32) string { return Count(max(n, 1)) }

func flag(b *bool) string {
	if b == nil {
		return ""
	}
	return Flag(*b)
}

func memory(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return Bytes(q.Value())
}

// cpu formats an amount of CPU, rounded up to whole megahertz: 4588 MHz is 4588M, 2000 MHz 2G.
func cpu(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	mhz := (q.Value() + limits.Megahertz - 1) / limits.Megahertz
	return resource.NewQuantity(mhz*limits.Megahertz, resource.DecimalSI).String()
}

// memoryOrZero formats a reservation of memory.
func memoryOrZero(q *resource.Quantity) string { return cmp.Or(memory(q), "0") }

// cpuOrZero formats a reservation of CPU.
func cpuOrZero(q *resource.Quantity) string { return cmp.Or(cpu(q), "0") }

// shares formats the level of shares, or their number if the level is Custom.
func shares(s *vmv1alpha1.Shares) string {
	switch {
	case s == nil:
		return ""
	case s.Level != vmv1alpha1.SharesCustom:
		return string(s.Level)
	case s.Shares == nil:
		return Count(0)
	}
	return Count(*s.Shares)
}

func deviceNames(list []vmv1alpha1.VirtualMachineDevice) string {
	names := make([]string, 0, len(list))
	for _, d := range list {
		names = append(names, d.DeviceName) // the names are not compared
	}
	return List(names)
}

func labels(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key+"="+m[key])
	}
	return strings.Join(parts, ",")
}

func seconds(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// text formats a string type of the API.
func text[T ~string](s T) string { return string(s) }

// presentValue is the value of a device that exists at most once.
const presentValue = "present"

func tpm(t *vmv1alpha1.VirtualMachineTPM) string {
	if t == nil || t.Enabled != nil && !*t.Enabled {
		return ""
	}
	return presentValue
}

func video(v *vmv1alpha1.VirtualMachineVideo) string {
	if v == nil {
		return ""
	}
	return v.Type
}

func bootOrder(devices []vmv1alpha1.VirtualMachineBootDevice) string {
	out := make([]string, 0, len(devices))
	for _, d := range devices {
		out = append(out, strings.TrimSpace(string(d.Type)+" "+d.Name))
	}
	return strings.Join(out, ", ")
}
