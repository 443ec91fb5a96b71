// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestRequiredResources_IncludesTheLargerBootDisk(t *testing.T) {
	const gib = 1 << 30
	disk := func(size string) vmv1alpha1.VirtualMachineVolume {
		return vmv1alpha1.VirtualMachineVolume{Disk: &vmv1alpha1.DiskVolumeSource{Capacity: ptr.To(resource.MustParse(size))}}
	}
	image := &vmv1alpha1.VirtualMachineImage{Status: vmv1alpha1.VirtualMachineImageStatus{Disks: []vmv1alpha1.VirtualMachineImageDisk{
		{Capacity: ptr.To(resource.MustParse("8Gi"))}, {Capacity: ptr.To(resource.MustParse("2Gi"))},
	}}}
	for name, tc := range map[string]struct {
		boot  string
		image *vmv1alpha1.VirtualMachineImage
		want  int64
	}{
		"as in the image":                   {image: image, want: 15 * gib},
		"larger":                            {image: image, boot: "20Gi", want: 27 * gib},
		"smaller, which validation rejects": {image: image, boot: "4Gi", want: 15 * gib},
		"unknown image":                     {boot: "20Gi", want: 25 * gib},
	} {
		e := &vmv1alpha1.VirtualMachineInstanceSpec{
			Memory:  &vmv1alpha1.VirtualMachineMemory{Guest: ptr.To(resource.MustParse("1Gi"))},
			Volumes: []vmv1alpha1.VirtualMachineVolume{disk("5Gi"), {}},
		}
		if tc.boot != "" {
			e.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: ptr.To(resource.MustParse(tc.boot))}
		}
		if got := provider.RequiredResources(e, tc.image); got.Storage != tc.want || got.Memory != gib {
			t.Errorf("%s: %+v, want %d bytes of storage", name, got, tc.want)
		}
	}
}
