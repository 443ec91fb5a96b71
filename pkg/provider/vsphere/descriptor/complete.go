// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// ApplyDefaults returns spec, completed with the image's configuration for all fields that spec does not set. extraConfig
// is merged key by key. Keys are compared without regard to case, as in .vmx files.
func (i *Image) ApplyDefaults(spec types.VirtualMachineConfigSpec) types.VirtualMachineConfigSpec {
	out := spec
	from, to := reflect.ValueOf(i.Config), reflect.ValueOf(&out).Elem()
	for n := range to.NumField() {
		if to.Field(n).IsZero() {
			to.Field(n).Set(from.Field(n))
		}
	}
	isSet := map[string]bool{}
	for _, o := range spec.ExtraConfig {
		isSet[strings.ToLower(o.GetOptionValue().Key)] = true
	}
	out.ExtraConfig = nil
	for _, o := range i.Config.ExtraConfig {
		if !isSet[strings.ToLower(o.GetOptionValue().Key)] {
			out.ExtraConfig = append(out.ExtraConfig, o)
		}
	}
	out.ExtraConfig = append(out.ExtraConfig, spec.ExtraConfig...)
	return out
}
