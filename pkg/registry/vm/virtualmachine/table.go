// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// newTable returns the columns of virtualmachines.
func newTable() *table.Convertor[*vmv1alpha1.VirtualMachine] {
	type column = table.Column[*vmv1alpha1.VirtualMachine]
	return table.New(
		column{Name: "Status", Type: "string", Description: "State of the virtual machine.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return printableStatus(v) }},
		column{Name: "Power", Type: "string", Description: "Power state reported by vSphere.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return string(v.Status.PowerState) }},
		column{Name: "Type", Type: "string", Description: "Instance type or class.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return sizeName(v) }},
		column{Name: "Outdated", Type: "string", Description: "Whether the instance type or preference has changed since it was pinned.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return outdated(v) }},
		column{Name: "CPU", Type: "string", Description: "Current number of virtual CPUs, and the desired number if it differs.", Value: vcpus},
		column{Name: "Memory", Type: "string", Description: "Current guest memory, and the desired amount if it differs.", Value: memory},
		column{Name: "IP", Type: "string", Description: "Primary IP address.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return primaryIP(v) }},
		column{Name: "Host", Type: "string", Description: "ESXi host.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return v.Status.NodeName }},
		column{Name: "Ready", Type: "string", Wide: true, Description: "Condition Ready.",
			Value: func(v *vmv1alpha1.VirtualMachine) any {
				return conditionStatus(v.Status.Conditions, vmv1alpha1.ConditionReady)
			}},
		column{Name: "Preference", Type: "string", Wide: true, Description: "Preference in use.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return preferenceName(v) }},
		column{Name: "Image", Type: "string", Wide: true, Description: "Image that the VM was created from.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return imageName(v) }},
		column{Name: "Zone", Type: "string", Wide: true, Description: "Failure domain.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return v.Status.Zone }},
		column{Name: "Group", Type: "string", Wide: true, Description: "Group of the virtual machine.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return v.Spec.GroupName }},
		column{Name: "UUID", Type: "string", Wide: true, Description: "Instance UUID in vSphere.",
			Value: func(v *vmv1alpha1.VirtualMachine) any { return v.Status.InstanceUUID }},
	)
}

func printableStatus(v *vmv1alpha1.VirtualMachine) string {
	switch {
	case v.DeletionTimestamp != nil && v.Status.PrintableStatus == "":
		return "Deleting"
	case v.Status.PrintableStatus != "":
		return v.Status.PrintableStatus
	default:
		return string(v.Status.Phase)
	}
}

// sizeName returns the instance type in use according to status, or the one in spec.
func sizeName(v *vmv1alpha1.VirtualMachine) string {
	switch {
	case v.Status.InstancetypeRef != nil:
		return v.Status.InstancetypeRef.Name
	case v.Spec.Instancetype != nil:
		return v.Spec.Instancetype.Name
	default:
		return v.Spec.ClassName
	}
}

func preferenceName(v *vmv1alpha1.VirtualMachine) string {
	switch {
	case v.Status.PreferenceRef != nil:
		return v.Status.PreferenceRef.Name
	case v.Spec.Preference != nil:
		return v.Spec.Preference.Name
	default:
		return ""
	}
}

func imageName(v *vmv1alpha1.VirtualMachine) string {
	if v.Spec.Image == nil {
		return ""
	}
	return v.Spec.Image.Name
}

// vcpus returns the current number of vCPUs, and the desired number if it differs.
func vcpus(v *vmv1alpha1.VirtualMachine) any {
	if r := v.Status.Resources; r != nil && r.VCPUs > 0 {
		desired := v.Status.DesiredResources
		if desired == nil || desired.VCPUs == r.VCPUs {
			return strconv.Itoa(int(r.VCPUs))
		}
		return fmt.Sprintf("%d (%d desired)", r.VCPUs, desired.VCPUs)
	}
	cpu := v.Spec.CPU
	if cpu == nil {
		return nil
	}
	return strconv.Itoa(int(max(cpu.Sockets, 1)) * int(max(cpu.Cores, 1)) * int(max(cpu.Threads, 1)))
}

// memory returns the current memory, and the desired amount if it differs.
func memory(v *vmv1alpha1.VirtualMachine) any {
	if r := v.Status.Resources; r != nil && r.Memory != nil {
		desired := v.Status.DesiredResources
		if desired == nil || desired.Memory == nil {
			return r.Memory.String()
		}
		// Compare a copy, because Cmp may change the representation of a quantity.
		if has := *r.Memory; has.Cmp(*desired.Memory) == 0 {
			return has.String()
		}
		return fmt.Sprintf("%s (%s desired)", r.Memory, desired.Memory)
	}
	if m := v.Spec.Memory; m != nil && m.Guest != nil {
		return m.Guest.String()
	}
	return nil
}

func primaryIP(v *vmv1alpha1.VirtualMachine) string {
	n := v.Status.Network
	switch {
	case n == nil:
		return ""
	case n.PrimaryIP4 != "":
		return n.PrimaryIP4
	default:
		return n.PrimaryIP6
	}
}

func outdated(v *vmv1alpha1.VirtualMachine) string {
	it, p := v.Status.InstancetypeRef, v.Status.PreferenceRef
	switch {
	case it == nil && p == nil:
		return ""
	case it != nil && it.Outdated, p != nil && p.Outdated:
		return "True"
	default:
		return "False"
	}
}

func conditionStatus(conditions []metav1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}
