// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// FieldName returns the name of an effective spec path in messages.
func FieldName(path string) string {
	if strings.HasPrefix(path, "metadata.") {
		return path
	}
	return "spec." + path
}

// ErrorWithFields adds the fields of a failed request, with their values, to the error that vSphere returned. It lists
// the fields that set the property named by the fault. If the fault names no such property, it lists all fields of
// the request. If the datastore has no space, it lists the fields that set disks. sent is the request as sent,
// which may contain more than diffs. Errors that no field can cause are returned unchanged.
func ErrorWithFields(err error, sent types.VirtualMachineConfigSpec, diffs []Difference) error {
	switch vimfault.KindOf(err) {
	case vimfault.None, vimfault.Temporary, vimfault.Cancelled, vimfault.NotFound, vimfault.WrongState:
		return err // Not caused by a value.
	default:
	}
	if own := fieldsOf(setProperty(vimfault.InvalidProperty(err), sent, diffs)); len(own) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(own, ", "), err)
	}
	full := vimfault.IsNoSpace(err)
	if all := fieldsOf(slices.DeleteFunc(slices.Clone(diffs), func(d Difference) bool { return d.IsMetadata() || full && !d.isDisk() })); len(all) > 0 {
		return fmt.Errorf("%w; the request set %s", err, strings.Join(all, ", "))
	}
	return err
}

// maxValueLength is the maximum length of a value in a message, in bytes.
const maxValueLength = 64

// fieldsOf formats differences, each field once. It leaves out bootstrap values, because they may be secret.
func fieldsOf(diffs []Difference) []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range diffs {
		if seen[d.Path] {
			continue
		}
		seen[d.Path] = true
		text := FieldName(d.Path)
		if !strings.HasPrefix(d.Path, "bootstrap") {
			text += " " + quote(d.Desired)
		}
		out = append(out, text)
	}
	return out
}

func quote(value string) string {
	if len(value) > maxValueLength {
		value = strings.ToValidUTF8(value[:maxValueLength], "") + "…"
	}
	return strconv.Quote(value)
}

// propertyPrefix matches the start of a property path in a fault. vSphere uses the name of the call's parameter or
// nothing (configSpec.guestId, hashicorp/packer issue 9153; spec.deviceChange, terraform-provider-vsphere issue
// 264; deviceChange[1], rancher issue 27732). The prefix for a clone is an assumption.
var propertyPrefix = regexp.MustCompile(`^((configSpec|spec|config)\.)+`)

var deviceIndex = regexp.MustCompile(`^deviceChange\[(\d+)\]`)

// setProperty returns the differences that set a property.
func setProperty(property string, sent types.VirtualMachineConfigSpec, diffs []Difference) []Difference {
	property = propertyPrefix.ReplaceAllString(property, "")
	if property == "" {
		return nil
	}
	var device types.BaseVirtualDevice
	if m := deviceIndex.FindStringSubmatch(property); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n >= len(sent.DeviceChange) {
			return nil
		}
		device = sent.DeviceChange[n].GetVirtualDeviceConfigSpec().Device
	}
	return slices.DeleteFunc(slices.Clone(diffs), func(d Difference) bool {
		var alone types.VirtualMachineConfigSpec
		d.set(&alone)
		return !(device != nil && hasDevice(alone.DeviceChange, device) || device == nil && setsProperty(alone, property))
	})
}

// hasDevice reports whether changes contains a device. A key identifies one device in a request.
func hasDevice(changes []types.BaseVirtualDeviceConfigSpec, device types.BaseVirtualDevice) bool {
	return slices.ContainsFunc(changes, func(c types.BaseVirtualDeviceConfigSpec) bool {
		own := c.GetVirtualDeviceConfigSpec().Device
		return own != nil && own.GetVirtualDevice().Key == device.GetVirtualDevice().Key
	})
}

// setsProperty reports whether a configuration sets a property, a part of it, or an object that contains it.
func setsProperty(spec types.VirtualMachineConfigSpec, property string) bool {
	within := func(path, at string) bool {
		rest, ok := strings.CutPrefix(path, at)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(valuePaths(reflect.ValueOf(spec), ""), func(path string) bool {
		return within(property, path) || within(path, property)
	})
}

// valuePaths returns the paths of the values in a data object, with vSphere's names.
func valuePaths(v reflect.Value, at string) []string {
	var out []string
	for n := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(n).Tag.Get("xml"), ",")
		value := v.Field(n)
		if name == "" || value.IsZero() {
			continue
		}
		for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		if value.Kind() == reflect.Struct {
			out = append(out, valuePaths(value, at+name+".")...)
			continue
		}
		out = append(out, at+name)
	}
	return out
}
