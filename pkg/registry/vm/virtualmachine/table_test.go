// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestTable_ShowsCurrentAndDesiredSize(t *testing.T) {
	size := func(vcpus int32, memory string) *vmv1alpha1.VirtualMachineResources {
		quantity := resource.MustParse(memory)
		return &vmv1alpha1.VirtualMachineResources{VCPUs: vcpus, Memory: &quantity}
	}
	guest := resource.MustParse("1Gi")
	spec := vmv1alpha1.VirtualMachineSpec{CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 2, Cores: 3}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &guest}}
	for name, c := range map[string]struct {
		machine     vmv1alpha1.VirtualMachine
		cpu, memory any
	}{
		"not reconciled yet":          {vmv1alpha1.VirtualMachine{Spec: spec}, "6", "1Gi"},
		"size not known yet":          {vmv1alpha1.VirtualMachine{}, nil, nil},
		"as desired":                  {vmv1alpha1.VirtualMachine{Spec: spec, Status: vmv1alpha1.VirtualMachineStatus{Resources: size(2, "4Gi")}}, "2", "4Gi"},
		"another size desired":        {vmv1alpha1.VirtualMachine{Spec: spec, Status: vmv1alpha1.VirtualMachineStatus{Resources: size(2, "4Gi"), DesiredResources: size(1, "8Gi")}}, "2 (1 desired)", "4Gi (8Gi desired)"},
		"other memory desired":        {vmv1alpha1.VirtualMachine{Status: vmv1alpha1.VirtualMachineStatus{Resources: size(2, "4Gi"), DesiredResources: size(2, "8Gi")}}, "2", "4Gi (8Gi desired)"},
		"same memory in another unit": {vmv1alpha1.VirtualMachine{Status: vmv1alpha1.VirtualMachineStatus{Resources: size(2, "4Gi"), DesiredResources: size(4, "4096Mi")}}, "2 (4 desired)", "4Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := vcpus(&c.machine); got != c.cpu {
				t.Errorf("CPU shows %v, want %v", got, c.cpu)
			}
			if got := memory(&c.machine); got != c.memory {
				t.Errorf("MEMORY shows %v, want %v", got, c.memory)
			}
		})
	}
}
