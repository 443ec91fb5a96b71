// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// Overlay applies every field that is set in over to spec. Devices are added, and extra configuration is replaced by
// key.
func Overlay(spec, over *types.VirtualMachineConfigSpec) {
	devices := append(spec.DeviceChange, over.DeviceChange...)
	extra := mergeExtra(spec.ExtraConfig, over.ExtraConfig)
	vApp := overlayVApp(spec.VAppConfig, over.VAppConfig, isTrue(over.VAppConfigRemoved))
	from, to := reflect.ValueOf(over).Elem(), reflect.ValueOf(spec).Elem()
	for i := range from.NumField() {
		if field := from.Field(i); !field.IsZero() && to.Field(i).CanSet() {
			to.Field(i).Set(field)
		}
	}
	spec.DeviceChange, spec.ExtraConfig, spec.VAppConfig = devices, extra, vApp
	spec.VAppConfigRemoved = nil
}

func mergeExtra(base, over []types.BaseOptionValue) []types.BaseOptionValue {
	at := map[string]int{}
	var merged []types.BaseOptionValue
	for _, o := range append(append([]types.BaseOptionValue{}, base...), over...) {
		option := o.GetOptionValue()
		if i, ok := at[option.Key]; ok {
			merged[i] = option
			continue
		}
		at[option.Key] = len(merged)
		merged = append(merged, option)
	}
	return merged
}
