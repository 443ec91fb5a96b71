// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func TestDiskFiles_IncludeTheParents(t *testing.T) {
	file := func(name string) types.VirtualDeviceFileBackingInfo {
		return types.VirtualDeviceFileBackingInfo{FileName: name}
	}
	for name, test := range map[string]struct {
		backing types.BaseVirtualDeviceBackingInfo
		want    []string
	}{
		"flat": {&types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file("a"),
			Parent: &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file("b"),
				Parent: &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file("c")}}}, []string{"a", "b", "c"}},
		"space-efficient": {&types.VirtualDiskSeSparseBackingInfo{VirtualDeviceFileBackingInfo: file("a"),
			Parent: &types.VirtualDiskSeSparseBackingInfo{VirtualDeviceFileBackingInfo: file("b")}}, []string{"a", "b"}},
		"sparse": {&types.VirtualDiskSparseVer2BackingInfo{VirtualDeviceFileBackingInfo: file("a"),
			Parent: &types.VirtualDiskSparseVer2BackingInfo{VirtualDeviceFileBackingInfo: file("b")}}, []string{"a", "b"}},
		"raw": {&types.VirtualDiskRawDiskMappingVer1BackingInfo{VirtualDeviceFileBackingInfo: file("a"),
			Parent: &types.VirtualDiskRawDiskMappingVer1BackingInfo{VirtualDeviceFileBackingInfo: file("b")}}, []string{"a", "b"}},
		"without a parent": {&types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file("a")}, []string{"a"}},
		"a remote device":  {&types.VirtualDeviceRemoteDeviceBackingInfo{}, []string{"a disk of *types.VirtualDeviceRemoteDeviceBackingInfo"}},
		"no backing":       {nil, []string{"a disk of <nil>"}},
	} {
		if diff := cmp.Diff(test.want, observe.DiskFiles(test.backing)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
