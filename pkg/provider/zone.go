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

// Resources are amounts of resources, either of a zone or of a virtual machine.
type Resources struct {
	// CPU in hertz.
	CPU int64
	// Memory and Storage in bytes.
	Memory, Storage int64
}

// ZoneCheck is the result of checking a virtual machine against a zone.
type ZoneCheck struct {
	// Zone is the name of the zone.
	Zone string
	// HasVM is true if the virtual machine already exists in the zone.
	HasVM bool
	// Refusal is the reason why the virtual machine does not fit; nil if it fits.
	Refusal error
	// CheckErr is the reason why the zone could not be checked; nil if it was.
	CheckErr error
	// Capacity and Free are the resources of the zone. At is the time when they were read.
	Capacity, Free Resources
	At             time.Time
	// Rating is the rating of the hypervisor's scheduler, from 1 to 5 (best). It is 0 if there is none.
	Rating int32
}

// ZoneState is the observed state of a zone.
type ZoneState struct {
	// Capacity and Free are valid only if Read is true.
	Capacity, Free Resources
	// Hosts is the number of hosts that can run virtual machines now.
	Hosts int32
	// Read is true if Capacity and Free are known.
	Read bool
	// Trouble joins all known reasons why virtual machines cannot be created in the zone.
	Trouble error
}

// ZoneOf returns the zone of vm, or an empty string if no zone was chosen. A virtual machine that was or may have been
// created without a zone in status is in the default zone. The zone is always written to status before a create starts.
func ZoneOf(vm *vmv1alpha1.VirtualMachine) string {
	switch {
	case vm.Status.Zone != "":
		return vm.Status.Zone
	case vm.Status.UniqueID != "" || mayHaveStartedCreate(vm):
		return vmv1alpha1.DefaultZone
	}
	return ""
}

// mayHaveStartedCreate reports whether a create may have been started according to the status.
func mayHaveStartedCreate(vm *vmv1alpha1.VirtualMachine) bool {
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

// InlineSpec returns the networks and disks of the virtual machine's own spec. They can be checked while its size or its
// preference is not known.
func InlineSpec(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachineInstanceSpec {
	return &vmv1alpha1.VirtualMachineInstanceSpec{
		StorageClass: vm.Spec.StorageClass, Network: vm.Spec.Network, Volumes: vm.Spec.Volumes, BootDisk: vm.Spec.BootDisk,
	}
}

// RequiredResources returns the resources that a virtual machine needs in its zone: its memory and the capacity of the
// disks in its spec and its image. The capacity of spec.bootDisk is used for the boot disk if it is larger. CPU is
// shared and is not counted.
func RequiredResources(e *vmv1alpha1.VirtualMachineInstanceSpec, image *vmv1alpha1.VirtualMachineImage) Resources {
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
	return r.withBootDisk(e, image)
}

// withBootDisk adds the difference between the capacity of spec.bootDisk and that of the image's boot disk.
func (r Resources) withBootDisk(e *vmv1alpha1.VirtualMachineInstanceSpec, image *vmv1alpha1.VirtualMachineImage) Resources {
	if e == nil || e.BootDisk == nil || e.BootDisk.Capacity == nil {
		return r
	}
	has := int64(0)
	if image != nil {
		if c := image.Status.BootDiskCapacity(); c != nil {
			has = c.Value()
		}
	}
	r.Storage += max(e.BootDisk.Capacity.Value()-has, 0)
	return r
}

// SelectsNamespace reports whether selector selects a namespace with the given labels. A nil selector selects every
// namespace. Nil labels mean that the labels are not known; then only a nil selector selects the namespace.
func SelectsNamespace(selector *metav1.LabelSelector, namespaceLabels map[string]string) (bool, error) {
	if selector == nil {
		return true, nil
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, fmt.Errorf("invalid namespace selector: %w", err)
	}
	return namespaceLabels != nil && s.Matches(labels.Set(namespaceLabels)), nil
}
