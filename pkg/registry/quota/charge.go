// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// sizeNames and Names are what depends on the size of a virtual machine, and all that is
// counted by this server; objects are counted by the host cluster.
var (
	sizeNames = []corev1.ResourceName{vmv1alpha1.QuotaVCPUs, vmv1alpha1.QuotaMemory, vmv1alpha1.QuotaRunningVCPUs, vmv1alpha1.QuotaRunningMemory}
	// Names are the resources of virtual machines.
	Names = append([]corev1.ResourceName{vmv1alpha1.QuotaStorage}, sizeNames...)
)

// size is what chargeSize gives for a virtual machine of these sizes: the greater of both,
// each of which may be unknown.
func chargeSize(vm *vmv1alpha1.VirtualMachine, has, wanted *vmv1alpha1.VirtualMachineResources) corev1.ResourceList {
	var (
		vcpus  int64
		memory resource.Quantity
	)
	for _, s := range []*vmv1alpha1.VirtualMachineResources{has, wanted} {
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
	if runs(vm) {
		charged[vmv1alpha1.QuotaRunningVCPUs] = charged[vmv1alpha1.QuotaVCPUs]
		charged[vmv1alpha1.QuotaRunningMemory] = charged[vmv1alpha1.QuotaMemory]
	}
	return charged
}

// runs tells whether vm is powered on or shall be.
func runs(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Spec.PowerState == vmv1alpha1.PoweredOn || vm.Spec.PowerState == "" || vm.Status.PowerState == vmv1alpha1.PoweredOn
}

// volumes is the size of the disks that vm has or shall have beyond those of its image. A
// disk that spec does not name any more counts while status shows it.
func volumes(vm *vmv1alpha1.VirtualMachine) resource.Quantity {
	var total resource.Quantity
	seen := map[string]*vmv1alpha1.VirtualMachineVolumeStatus{}
	for i := range vm.Status.Volumes {
		seen[vm.Status.Volumes[i].Name] = &vm.Status.Volumes[i]
	}
	for i := range vm.Spec.Volumes {
		v := &vm.Spec.Volumes[i]
		has := seen[v.Name]
		delete(seen, v.Name)
		if v.Disk == nil {
			continue
		}
		total.Add(greater(v.Disk.Capacity, capacity(has)))
	}
	for _, has := range seen {
		if has.ClaimName == "" {
			total.Add(greater(nil, capacity(has)))
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

// bootDisk is the size that the first disk of the image has or shall have, nil when
// neither is told.
func bootDisk(vm *vmv1alpha1.VirtualMachine) *resource.Quantity {
	var has, wanted *resource.Quantity
	if s := vm.Status.Storage; s != nil && s.BootDisk != nil {
		has = s.BootDisk.Capacity
	}
	if vm.Spec.BootDisk != nil {
		wanted = vm.Spec.BootDisk.Capacity
	}
	if has == nil && wanted == nil {
		return nil
	}
	boot := greater(has, wanted)
	return &boot
}

// imageDisks is the size of the disks that come with image, the first at least as large as
// boot. It is false when image does not tell, and boot neither.
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

// greater of two quantities, each of which may be missing.
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

// less compares copies: an amount that is compared with one of another representation
// takes that, and what is charged is shared with others.
func less(a, b resource.Quantity) bool { return a.Cmp(b) < 0 }
