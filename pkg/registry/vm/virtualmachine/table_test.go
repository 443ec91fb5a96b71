// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestColumnsShowTheSizeThatTheVMHasAndTheOneThatIsWanted(t *testing.T) {
	size := func(vcpus int32, memory string) *vm.VirtualMachineResources {
		quantity := resource.MustParse(memory)
		return &vm.VirtualMachineResources{VCPUs: vcpus, Memory: &quantity}
	}
	guest := resource.MustParse("1Gi")
	spec := vm.VirtualMachineSpec{CPU: &vm.VirtualMachineCPU{Sockets: 2, Cores: 3}, Memory: &vm.VirtualMachineMemory{Guest: &guest}}
	for name, c := range map[string]struct {
		machine     vm.VirtualMachine
		cpu, memory any
	}{
		"nobody has looked at it":   {vm.VirtualMachine{Spec: spec}, "6", "1Gi"},
		"its size is not known yet": {vm.VirtualMachine{}, nil, nil},
		"as wanted":                 {vm.VirtualMachine{Spec: spec, Status: vm.VirtualMachineStatus{Resources: size(2, "4Gi")}}, "2", "4Gi"},
		"another is wanted":         {vm.VirtualMachine{Spec: spec, Status: vm.VirtualMachineStatus{Resources: size(2, "4Gi"), DesiredResources: size(1, "8Gi")}}, "2 (1 wanted)", "4Gi (8Gi wanted)"},
		"other memory is wanted":    {vm.VirtualMachine{Status: vm.VirtualMachineStatus{Resources: size(2, "4Gi"), DesiredResources: size(2, "8Gi")}}, "2", "4Gi (8Gi wanted)"},
		"same memory, otherwise":    {vm.VirtualMachine{Status: vm.VirtualMachineStatus{Resources: size(2, "4Gi"), DesiredResources: size(4, "4096Mi")}}, "2 (4 wanted)", "4Gi"},
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
