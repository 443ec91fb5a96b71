// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"math/bits"

	"k8s.io/apimachinery/pkg/api/resource"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
)

const percent = 100

// pageSizes are the sizes of large pages that ESXi supports. Other sizes are ignored.
var pageSizes = map[string]bool{"2Mi": true, "1Gi": true}

// applyMemory sets memory to the size of the instance type. memory has the values of the virtual machine's spec. own is
// the original spec, or nil.
func applyMemory(memory, own *vmv1alpha1.VirtualMachineMemory, it *itv1alpha1.VirtualMachineInstancetypeSpec, found *problems) {
	memoryConflicts(own, &it.Memory, found)
	guest, ok := roundUp(it.Memory.Guest.Value(), limits.MemoryUnit)
	if !ok || guest <= 0 {
		found.add(InvalidProblem, "spec.instancetype", fmt.Sprintf(
			"memory.guest %s of the instance type must be positive", it.Memory.Guest.String()))
		return
	}
	if it.Memory.OvercommitPercent < 0 || it.Memory.OvercommitPercent > percent {
		found.add(InvalidProblem, "spec.instancetype", fmt.Sprintf(
			"memory.overcommitPercent %d of the instance type is not allowed: it must be in range between 0 and 100",
			it.Memory.OvercommitPercent))
		return
	}
	memory.Guest = resource.NewQuantity(guest, resource.BinarySI)
	memory.Reservation = resource.NewQuantity(Reservation(guest, it.Memory.OvercommitPercent), resource.BinarySI)
	if it.Memory.Hugepages != nil && pageSizes[it.Memory.Hugepages.PageSize] {
		memory.HugePageSize = it.Memory.Hugepages.PageSize
	}
	if it.Memory.MaxGuest != nil {
		if it.Memory.MaxGuest.Cmp(it.Memory.Guest) < 0 {
			found.add(InvalidProblem, "spec.instancetype", "memory.maxGuest of the instance type is below its memory.guest")
		}
		ceiling, _ := roundUp(it.Memory.MaxGuest.Value(), limits.MemoryUnit)
		memory.MaxGuest = resource.NewQuantity(max(ceiling, guest), resource.BinarySI)
	}
}

// Reservation returns the reserved bytes of guest, of which overcommit percent (0 to 100) are not reserved. The result
// is rounded up to whole mebibytes. A negative guest counts as 0.
func Reservation(guest int64, overcommit int32) int64 {
	if guest <= 0 || overcommit >= percent {
		return 0
	}
	// The product of a size near 8 EiB and 100 exceeds 64 bits.
	hi, lo := bits.Mul64(uint64(guest), uint64(percent-overcommit))
	quotient, rest := bits.Div64(hi, lo, percent)
	if rest != 0 {
		quotient++
	}
	rounded, ok := roundUp(int64(quotient), limits.Mebibyte)
	if !ok {
		return int64(quotient)
	}
	return min(rounded, guest)
}

// roundUp returns the smallest multiple of unit that is at least value; false if it overflows.
func roundUp(value, unit int64) (int64, bool) {
	rest := value % unit
	if rest <= 0 {
		return value - rest, true
	}
	up := value - rest + unit
	return up, up > 0
}

// memoryConflicts reports the fields that both the virtual machine and the instance type set.
func memoryConflicts(own *vmv1alpha1.VirtualMachineMemory, it *itv1alpha1.MemoryInstancetype, found *problems) {
	if own == nil {
		return
	}
	for _, c := range []struct {
		path string
		both bool
	}{
		{"spec.memory.guest", own.Guest != nil},
		{"spec.memory.reservation", own.Reservation != nil},
		{"spec.memory.maxGuest", own.MaxGuest != nil && it.MaxGuest != nil},
		{"spec.memory.hugePageSize", own.HugePageSize != "" && it.Hugepages != nil},
	} {
		if c.both {
			found.conflict(c.path, sourceInstancetype)
		}
	}
	if own.Limit != nil {
		found.excluded("spec.memory.limit")
	}
}

// checkLimit rejects a limit below the guest's memory if all memory must be reserved. vSphere would keep only one of
// the two settings.
func checkLimit(spec *vmv1alpha1.VirtualMachineInstanceSpec, in Inputs, found *problems) {
	memory := spec.Memory
	if memory.Guest == nil || memory.Limit == nil || memory.Limit.Cmp(*memory.Guest) >= 0 || !hardware.NeedsFullReservation(spec) {
		return
	}
	source, path := sizeSource(in)
	if path == "" {
		path = "spec.memory.limit"
	}
	found.add(InvalidProblem, path, fmt.Sprintf(
		"memory.limit %s of %s is less than the memory size %s, which must be fully reserved because of passthrough devices, SR-IOV, 1Gi pages or dedicated CPUs",
		memory.Limit, source, memory.Guest))
}
