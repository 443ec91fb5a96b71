// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Property is the path of what vSphere says is wrong in a request, in its own words and
// with the prefix that it gives it, for example configSpec.guestId or
// deviceChange[1].device.backing; empty when it does not say.
func Property(err error) string {
	for f := range faults(err) {
		for ; f != nil; f = cause(f) {
			if p := propertyOf(f); p != "" {
				return p
			}
		}
	}
	return ""
}

// propertyOf is what one fault says. Devices are told by their index (vSphere API,
// InvalidDeviceSpec), or by a path that has it (InvalidArgument).
func propertyOf(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case types.BaseInvalidArgument:
		return f.GetInvalidArgument().InvalidProperty
	case types.BaseInvalidDeviceSpec:
		spec := f.GetInvalidDeviceSpec()
		return fmt.Sprintf("deviceChange[%d]%s", spec.DeviceIndex, strings.TrimPrefix(spec.Property, "virtualDeviceSpec"))
	case types.BaseInvalidVmConfig:
		return f.GetInvalidVmConfig().Property
	}
	return ""
}
