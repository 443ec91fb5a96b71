// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// sizeNames are the resources that depend on the size of a virtual machine. Names are all resources that this server
// measures. The management cluster counts objects.
var (
	sizeNames = []corev1.ResourceName{vmv1alpha1.QuotaVCPUs, vmv1alpha1.QuotaMemory, vmv1alpha1.QuotaRunningVCPUs, vmv1alpha1.QuotaRunningMemory}
	// Names are the resources of virtual machines.
	Names = append([]corev1.ResourceName{vmv1alpha1.QuotaStorage}, sizeNames...)
)

// chargeSize returns the size-dependent charges of vm. It uses the greater of the two sizes; each may be nil.
func chargeSize(vm *vmv1alpha1.VirtualMachine, current, desired *vmv1alpha1.VirtualMachineResources) corev1.ResourceList {
	var (
		vcpus  int64
		memory resource.Quantity
	)
	for _, s := range []*vmv1alpha1.VirtualMachineResources{current, desired} {
		if s == nil {
			continue
		}
		vcpus = max(vcpus, int64(s.VCPUs))
		if s.Memory != nil && less(memory, *s.Memory) {
			memory = s.Memory.DeepCopy()
		}
	}
	charged := corev1.ResourceList{
		vmv1alpha1.QuotaVCPUs: *resource.NewQuantity(vcpus, resource.DecimalSI), vmv1alpha1.QuotaMemory: memory,
		vmv1alpha1.QuotaRunningVCPUs: *resource.NewQuantity(0, resource.DecimalSI), vmv1alpha1.QuotaRunningMemory: *resource.NewQuantity(0, resource.BinarySI),
	}
	if isRunning(vm) {
		charged[vmv1alpha1.QuotaRunningVCPUs] = charged[vmv1alpha1.QuotaVCPUs]
		charged[vmv1alpha1.QuotaRunningMemory] = charged[vmv1alpha1.QuotaMemory]
	}
	return charged
}

// isRunning reports whether vm is powered on or should be.
func isRunning(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Spec.PowerState == vmv1alpha1.PoweredOn || vm.Spec.PowerState == "" || vm.Status.PowerState == vmv1alpha1.PoweredOn
}

// volumesSize returns the current or desired size of the disks of vm, without those of its image. A disk that has been
// removed from spec counts until it is removed from status.
func volumesSize(vm *vmv1alpha1.VirtualMachine) resource.Quantity {
	var total resource.Quantity
	seen := map[string]*vmv1alpha1.VirtualMachineVolumeStatus{}
	for i := range vm.Status.Volumes {
		seen[vm.Status.Volumes[i].Name] = &vm.Status.Volumes[i]
	}
	for i := range vm.Spec.Volumes {
		v := &vm.Spec.Volumes[i]
		current := seen[v.Name]
		delete(seen, v.Name)
		if v.Disk == nil {
			continue
		}
		total.Add(greater(v.Disk.Capacity, capacity(current)))
	}
	for _, current := range seen {
		if current.ClaimName == "" {
			total.Add(greater(nil, capacity(current)))
		}
	}
	return total
}

func capacity(v *vmv1alpha1.VirtualMachineVolumeStatus) *resource.Quantity {
	if v == nil {
		return nil
	}
	return v.Capacity
}

// bootDisk returns the greater of the current and the desired size of the boot disk, or nil if both are unknown.
func bootDisk(vm *vmv1alpha1.VirtualMachine) *resource.Quantity {
	var current, desired *resource.Quantity
	if s := vm.Status.Storage; s != nil && s.BootDisk != nil {
		current = s.BootDisk.Capacity
	}
	if vm.Spec.BootDisk != nil {
		desired = vm.Spec.BootDisk.Capacity
	}
	if current == nil && desired == nil {
		return nil
	}
	boot := greater(current, desired)
	return &boot
}

// imageDisks returns the size of the disks of image. The first disk is at least as large as boot. It returns false if
// neither image nor boot determines the size.
func imageDisks(boot *resource.Quantity, image *vmv1alpha1.VirtualMachineImage) (resource.Quantity, bool) {
	if image == nil || len(image.Status.Disks) == 0 {
		return greater(boot, nil), boot != nil
	}
	var total resource.Quantity
	known := true
	for i := range image.Status.Disks {
		has := image.Status.Disks[i].Capacity
		if i == 0 {
			known = known && (has != nil || boot != nil)
			total.Add(greater(boot, has))
			continue
		}
		known = known && has != nil
		total.Add(greater(nil, has))
	}
	return total, known
}

// greater returns the greater quantity. Each may be nil.
func greater(a, b *resource.Quantity) resource.Quantity {
	switch {
	case a == nil && b == nil:
		return *resource.NewQuantity(0, resource.BinarySI)
	case a == nil, b != nil && less(*a, *b):
		return b.DeepCopy()
	default:
		return a.DeepCopy()
	}
}

// less reports whether a < b. It compares copies, because Cmp may change the representation of a quantity, and
// charges are shared.
func less(a, b resource.Quantity) bool { return a.Cmp(b) < 0 }
