// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// InvalidProperty returns the path of the invalid property that vSphere reports. The path has vSphere's
// own names and prefix, for example configSpec.guestId or deviceChange[1].device.backing. It is
// empty if vSphere reports none.
func InvalidProperty(err error) string {
	for f := range faultsOf(err) {
		for ; f != nil; f = causeOf(f) {
			if p := propertyOf(f); p != "" {
				return p
			}
		}
	}
	return ""
}

// propertyOf returns the invalid property that one fault reports. A device is identified by its
// index (vSphere API, InvalidDeviceSpec) or by a path that contains the index (InvalidArgument).
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
