// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// guestInfoTransport is the OVF environment transport that passes properties to the guest through VMware Tools.
const guestInfoTransport = "com.vmware.guestInfo"

// compareVApp sets OVF properties. The image's properties keep their keys and labels, even if vSphere did not copy
// them to the VM. Properties that the image does not have are added. No status shows the values, because they may
// come from a Secret.
func compareVApp(in *input) []Difference {
	if !in.exists() || in.adopted {
		return nil
	}
	var have types.VmConfigInfo
	if in.config.VAppConfig != nil {
		have = *in.config.VAppConfig.GetVmConfigInfo()
	}
	spec := imageProperties(in, len(have.Property) > 0)
	changed := map[string]*types.VAppPropertyInfo{}
	for _, p := range spec.Property {
		changed[PropertyID(*p.Info)] = p.Info
	}
	byID, next := map[string]types.VAppPropertyInfo{}, int32(len(spec.Property))
	for _, p := range have.Property {
		byID[PropertyID(p)] = p
		next = max(next, p.Key+1)
	}
	for _, id := range slices.Sorted(maps.Keys(in.vAppProperties())) {
		if p := changed[id]; p != nil {
			p.Value = in.vAppProperties()[id]
			continue
		}
		info, ok := byID[id]
		op := types.ArrayUpdateOperationEdit
		if !ok {
			op = types.ArrayUpdateOperationAdd
			info = types.VAppPropertyInfo{Key: next, Id: id, Label: id, Type: "string", UserConfigurable: types.NewBool(true)}
			next++
		}
		if ok && info.Value == in.vAppProperties()[id] {
			continue
		}
		info.Value = in.vAppProperties()[id]
		spec.Property = append(spec.Property, types.VAppPropertySpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: op}, Info: &info})
	}
	if len(spec.Property) == 0 {
		return nil
	}
	if len(have.OvfEnvironmentTransport)+len(spec.OvfEnvironmentTransport) == 0 {
		spec.OvfEnvironmentTransport = []string{guestInfoTransport}
	}
	return []Difference{{Path: "bootstrap.vAppConfig", Desired: "changed", FirstBoot: true,
		set: func(s *types.VirtualMachineConfigSpec) { s.VAppConfig = spec }}}
}

// imageProperties returns the image's properties for a new VM that needs them and has none. cloud-init does not
// need them.
func imageProperties(in *input, present bool) *types.VmConfigSpec {
	out, b := &types.VmConfigSpec{}, in.Effective.Bootstrap
	image := in.ImageProperties
	if !in.New || present || image == nil || b != nil && b.CloudInit != nil && b.VAppConfig == nil {
		return out
	}
	*out = *image
	out.Property = nil
	for _, p := range image.Property {
		info := *p.Info
		p.Info = &info
		out.Property = append(out.Property, p)
	}
	return out
}

// PropertyID returns the identifier of a property as OVF writes it, with class and instance (DSP0243 9.5.1).
func PropertyID(p types.VAppPropertyInfo) string {
	id := p.Id
	if p.ClassId != "" {
		id = p.ClassId + "." + id
	}
	if p.InstanceId != "" {
		id += "." + p.InstanceId
	}
	return id
}
