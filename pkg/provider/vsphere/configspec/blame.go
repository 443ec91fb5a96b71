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

// Field is how messages name a path of the effective spec.
func Field(path string) string {
	if strings.HasPrefix(path, "metadata.") {
		return path
	}
	return "spec." + path
}

// Blame names, in the error that vSphere has answered a request with, the fields that it
// is about, with their values: those that set what the fault names, or all that the
// request sets when it names nothing of them. Sent is the request as it was sent, which
// may have more in it than the differences. Of a request for which a datastore has no room, it names
// those that set disks. Other errors are returned as they are.
func Blame(err error, sent types.VirtualMachineConfigSpec, diffs []Difference) error {
	switch vimfault.KindOf(err) {
	case vimfault.None, vimfault.Temporary, vimfault.Cancelled, vimfault.NotFound, vimfault.WrongState:
		return err // Not because of a value.
	default:
	}
	if own := fields(setting(vimfault.Property(err), sent, diffs)); len(own) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(own, ", "), err)
	}
	full := vimfault.NoSpace(err)
	if all := fields(slices.DeleteFunc(slices.Clone(diffs), func(d Difference) bool { return d.Names() || full && !d.disk() })); len(all) > 0 {
		return fmt.Errorf("%w; the request set %s", err, strings.Join(all, ", "))
	}
	return err
}

// shownValue bounds a value in a message, in bytes.
const shownValue = 64

// fields prints differences, each field once. The data of a bootstrap may be secret.
func fields(diffs []Difference) []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range diffs {
		if seen[d.Path] {
			continue
		}
		seen[d.Path] = true
		text := Field(d.Path)
		if !strings.HasPrefix(d.Path, "bootstrap") {
			text += " " + quote(d.Desired)
		}
		out = append(out, text)
	}
	return out
}

func quote(value string) string {
	if len(value) > shownValue {
		value = strings.ToValidUTF8(value[:shownValue], "") + "…"
	}
	return strconv.Quote(value)
}

// prefixes are how vSphere begins the path of a property: it names the parameter of the
// call, or nothing (configSpec.guestId, hashicorp/packer issue 9153; spec.deviceChange,
// terraform-provider-vsphere issue 264; deviceChange[1], rancher issue 27732). That of a
// clone is judgement.
var prefixes = regexp.MustCompile(`^((configSpec|spec|config)\.)+`)

var deviceIndex = regexp.MustCompile(`^deviceChange\[(\d+)\]`)

// setting are the differences that set a property.
func setting(property string, sent types.VirtualMachineConfigSpec, diffs []Difference) []Difference {
	property = prefixes.ReplaceAllString(property, "")
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
		return !(device != nil && has(alone.DeviceChange, device) || device == nil && sets(alone, property))
	})
}

// has finds a device by its key, which in one request is of one device.
func has(changes []types.BaseVirtualDeviceConfigSpec, device types.BaseVirtualDevice) bool {
	return slices.ContainsFunc(changes, func(c types.BaseVirtualDeviceConfigSpec) bool {
		own := c.GetVirtualDeviceConfigSpec().Device
		return own != nil && own.GetVirtualDevice().Key == device.GetVirtualDevice().Key
	})
}

// sets is true for a configuration that has a value at a property, in it or around it.
func sets(spec types.VirtualMachineConfigSpec, property string) bool {
	within := func(path, at string) bool {
		rest, ok := strings.CutPrefix(path, at)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(written(reflect.ValueOf(spec), ""), func(path string) bool {
		return within(property, path) || within(path, property)
	})
}

// written are the paths of the values in a data object, as vSphere calls them.
func written(v reflect.Value, at string) []string {
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
			out = append(out, written(value, at+name+".")...)
			continue
		}
		out = append(out, at+name)
	}
	return out
}
