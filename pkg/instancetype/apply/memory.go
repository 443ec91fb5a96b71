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

// pageSizes are the large pages that ESXi has; others are not applied.
var pageSizes = map[string]bool{"2Mi": true, "1Gi": true}

// applyMemory gives memory the size of the instance type. memory holds what the
// virtual machine set; own is that spec itself, nil when it has no memory.
func applyMemory(memory, own *vmv1alpha1.VirtualMachineMemory, it *itv1alpha1.VirtualMachineInstancetypeSpec, found *problems) {
	memoryConflicts(own, &it.Memory, found)
	guest, ok := roundUp(it.Memory.Guest.Value(), limits.MemoryUnit)
	if !ok || guest <= 0 {
		found.add(InvalidProblem, "spec.instancetype", fmt.Sprintf(
			"memory.guest %s of the instance type cannot be used: it must be positive", it.Memory.Guest.String()))
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

// Reservation returns the bytes of guest that are reserved when overcommit
// percent of them are not, from 0 to 100: exact, then rounded up to whole
// mebibytes, so that the host never guarantees less than was asked for. A
// negative guest counts as 0.
func Reservation(guest int64, overcommit int32) int64 {
	if guest <= 0 || overcommit >= percent {
		return 0
	}
	// The product of a size near 8 EiB and 100 needs more than 64 bits.
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

// roundUp returns the smallest multiple of unit that is not below value; false
// when it does not fit.
func roundUp(value, unit int64) (int64, bool) {
	rest := value % unit
	if rest <= 0 {
		return value - rest, true
	}
	up := value - rest + unit
	return up, up > 0
}

// memoryConflicts reports what the virtual machine and the instance type both set.
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

// checkLimit refuses a limit below the memory that has to be reserved as a whole: vSphere
// would keep one of both, and undo the other.
func checkLimit(spec *vmv1alpha1.VirtualMachineInstanceSpec, in Inputs, found *problems) {
	memory := spec.Memory
	if memory.Guest == nil || memory.Limit == nil || memory.Limit.Cmp(*memory.Guest) >= 0 || !hardware.Pinned(spec) {
		return
	}
	source, path := sizeSource(in)
	if path == "" {
		path = "spec.memory.limit"
	}
	found.add(InvalidProblem, path, fmt.Sprintf(
		"memory.limit %s of %s is less than the %s of memory, all of which has to be reserved for devices that are passed through, SR-IOV, 1Gi pages and dedicated CPUs",
		memory.Limit, source, memory.Guest))
}
