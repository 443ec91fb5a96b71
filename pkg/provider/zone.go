// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Resources are amounts of what a zone has or a virtual machine takes.
type Resources struct {
	// CPU in hertz.
	CPU int64
	// Memory and Storage in bytes.
	Memory, Storage int64
}

// Offer is what a zone has for a virtual machine.
type Offer struct {
	// Zone is its name.
	Zone string
	// Has is true when the virtual machine that the object names is in the zone already.
	Has bool
	// Lacks is why the zone cannot hold the virtual machine, nil if it can.
	Lacks error
	// Unknown is why the zone could not be asked, nil if it was.
	Unknown error
	// Capacity and Free are of the zone, and At is when they were read.
	Capacity, Free Resources
	At             time.Time
	// Rating is how well the hypervisor's own scheduler can place the virtual machine, from
	// 1 to 5; 0 where there is none.
	Rating int32
}

// ZoneState is what is seen of a zone.
type ZoneState struct {
	// Capacity and Free are what it has; they count only with Read.
	Capacity, Free Resources
	// Hosts that virtual machines can run on now.
	Hosts int32
	// Read is true when the amounts are known.
	Read bool
	// Trouble is why virtual machines cannot be made in it, all that is known of it.
	Trouble error
}

// ZoneOf is the zone that vm is in; empty if none was chosen. One that was created, or may
// have been, when there were no zones is in the default one: a zone is in status before
// anything is made.
func ZoneOf(vm *vmv1alpha1.VirtualMachine) string {
	switch {
	case vm.Status.Zone != "":
		return vm.Status.Zone
	case vm.Status.UniqueID != "" || attempted(vm):
		return vmv1alpha1.DefaultZone
	}
	return ""
}

// attempted is true if status says that somebody has begun to make the vSphere VM.
func attempted(vm *vmv1alpha1.VirtualMachine) bool {
	c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c == nil {
		return false
	}
	switch c.Reason {
	case vmv1alpha1.ReasonWaitingForPrerequisites, vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonNotAllowed, vmv1alpha1.ReasonUnknownState:
		return false
	}
	return true
}

// OwnSpec returns what the spec of a virtual machine says by itself of its networks and disks: what can be checked
// while its size or its preference is not known.
func OwnSpec(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineInstanceSpec {
	return &vmv1alpha1.VirtualMachineInstanceSpec{
		StorageClass: vm.Spec.StorageClass, Network: vm.Spec.Network, Volumes: vm.Spec.Volumes, BootDisk: vm.Spec.BootDisk,
	}
}

// SizeOf is what a virtual machine takes of its zone: its memory, and the capacity of the
// disks that its spec and its image have, the boot disk as large as it is to be grown. CPU is
// shared, and not counted.
func SizeOf(e *vmv1alpha1.VirtualMachineInstanceSpec, image *vmv1alpha1.VirtualMachineImage) Resources {
	var r Resources
	if e != nil && e.Memory != nil && e.Memory.Guest != nil {
		r.Memory = e.Memory.Guest.Value()
	}
	if e != nil {
		for i := range e.Volumes {
			if d := e.Volumes[i].Disk; d != nil && d.Capacity != nil {
				r.Storage += d.Capacity.Value()
			}
		}
	}
	if image != nil {
		for i := range image.Status.Disks {
			if c := image.Status.Disks[i].Capacity; c != nil {
				r.Storage += c.Value()
			}
		}
	}
	return r.grown(e, image)
}

// grown adds by how much spec.bootDisk is larger than that of the image.
func (r Resources) grown(e *vmv1alpha1.VirtualMachineInstanceSpec, image *vmv1alpha1.VirtualMachineImage) Resources {
	if e == nil || e.BootDisk == nil || e.BootDisk.Capacity == nil {
		return r
	}
	has := int64(0)
	if image != nil {
		if c := image.Status.BootDisk(); c != nil {
			has = c.Value()
		}
	}
	r.Storage += max(e.BootDisk.Capacity.Value()-has, 0)
	return r
}

// Selects reports whether a selector, of which nil selects everything, selects a namespace
// with these labels. Nil labels are not known, and are selected by no selector.
func Selects(selector *metav1.LabelSelector, of map[string]string) (bool, error) {
	if selector == nil {
		return true, nil
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, fmt.Errorf("reading a selector of namespaces: %w", err)
	}
	return of != nil && s.Matches(labels.Set(of)), nil
}
