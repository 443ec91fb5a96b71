// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateVirtualMachineGroup checks a new group.
func ValidateVirtualMachineGroup(obj *vmv1alpha1.VirtualMachineGroup) field.ErrorList {
	errs := validateMeta(&obj.ObjectMeta)
	spec, path := &obj.Spec, field.NewPath("spec")
	errs = append(errs, validateName(spec.GroupName, path.Child("groupName"))...)
	if spec.GroupName != "" && spec.GroupName == obj.Name {
		errs = append(errs, field.Invalid(path.Child("groupName"), spec.GroupName, "a group cannot be a member of itself"))
	}
	errs = append(errs, validateEnum(spec.PowerState, path.Child("powerState"), powerStates...)...)
	errs = append(errs, validateGroupSteps(obj, path.Child("bootOrder"))...)
	return append(errs, validateGroupPlacement(spec.Placement, path.Child("placement"))...)
}

// ValidateVirtualMachineGroupUpdate checks the change from old to obj.
func ValidateVirtualMachineGroupUpdate(obj, old *vmv1alpha1.VirtualMachineGroup) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidateVirtualMachineGroup(obj)...)
}

// ValidateVirtualMachineGroupStatusUpdate checks a change of status.
func ValidateVirtualMachineGroupStatusUpdate(obj, old *vmv1alpha1.VirtualMachineGroup) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	errs = append(errs, validateConditions(obj.Status.Conditions, path.Child("conditions"))...)
	errs = append(errs, validateEnum(obj.Status.PowerState, path.Child("powerState"), powerStates...)...)
	members := path.Child("members")
	if n := len(obj.Status.Members); n > vmv1alpha1.MaxGroupMembers {
		return append(errs, field.TooMany(members, n, vmv1alpha1.MaxGroupMembers))
	}
	for i := range obj.Status.Members {
		m, at := &obj.Status.Members[i], members.Index(i)
		errs = append(errs, validateEnum(m.PowerState, at.Child("powerState"), powerStates...)...)
		errs = append(errs, validateEnum(m.DesiredPowerState, at.Child("desiredPowerState"), powerStates...)...)
		errs = append(errs, validateConditions(m.Conditions, at.Child("conditions"))...)
	}
	return errs
}

// validateGroupSteps checks the steps of a group and that no member is listed twice.
func validateGroupSteps(group *vmv1alpha1.VirtualMachineGroup, path *field.Path) field.ErrorList {
	if n := len(group.Members()); n > vmv1alpha1.MaxGroupMembers {
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("must have at most %d members in total", vmv1alpha1.MaxGroupMembers))}
	}
	var errs field.ErrorList
	seen := sets.New[vmv1alpha1.VirtualMachineGroupMember]()
	for i := range group.Spec.BootOrder {
		step, at := &group.Spec.BootOrder[i], path.Index(i)
		if len(step.Members) == 0 {
			errs = append(errs, field.Required(at.Child("members"), "must list at least one virtual machine or group"))
		}
		for j, m := range step.Members {
			errs = append(errs, validateGroupMember(group, m, seen, at.Child("members").Index(j))...)
		}
		errs = append(errs, validateRange(int64(step.PowerOnDelaySeconds), 0, vmv1alpha1.MaxGroupSeconds, at.Child("powerOnDelaySeconds"))...)
		errs = append(errs, validateRange(int64(step.PowerOffDelaySeconds), 0, vmv1alpha1.MaxGroupSeconds, at.Child("powerOffDelaySeconds"))...)
		errs = append(errs, validateEnum(step.WaitFor, at.Child("waitFor"), vmv1alpha1.WaitForNothing, vmv1alpha1.WaitForReady)...)
		if timeout := at.Child("waitTimeoutSeconds"); step.WaitTimeoutSeconds != 0 {
			errs = append(errs, validateRange(int64(step.WaitTimeoutSeconds), 1, vmv1alpha1.MaxGroupSeconds, timeout)...)
			if step.WaitFor != vmv1alpha1.WaitForReady {
				errs = append(errs, field.Forbidden(timeout, "can be set only with waitFor: Ready"))
			}
		}
	}
	return errs
}

// validateGroupMember checks a member and adds it to seen.
func validateGroupMember(group *vmv1alpha1.VirtualMachineGroup, m vmv1alpha1.VirtualMachineGroupMember, seen sets.Set[vmv1alpha1.VirtualMachineGroupMember], path *field.Path) field.ErrorList {
	errs := validateRequiredName(m.Name, path.Child("name"))
	errs = append(errs, validateEnum(m.Kind, path.Child("kind"), vmv1alpha1.MachineMemberKind, vmv1alpha1.GroupMemberKind)...)
	m.Kind = cmp.Or(m.Kind, vmv1alpha1.MachineMemberKind)
	if seen.Has(m) {
		errs = append(errs, field.Duplicate(path, m.Kind+" "+m.Name))
	}
	seen.Insert(m)
	if m.Matches(vmv1alpha1.GroupMemberKind, group.Name) && group.Name != "" {
		errs = append(errs, field.Invalid(path.Child("name"), m.Name, "a group cannot be a member of itself"))
	}
	return errs
}

// validateGroupPlacement checks the placement policy and topology.
func validateGroupPlacement(placement *vmv1alpha1.VirtualMachineGroupPlacement, path *field.Path) field.ErrorList {
	if placement == nil {
		return nil
	}
	var errs field.ErrorList
	if placement.Policy == "" {
		errs = append(errs, field.Required(path.Child("policy"), "must be Together or Apart"))
	}
	errs = append(errs, validateEnum(placement.Policy, path.Child("policy"), vmv1alpha1.PlacementTogether, vmv1alpha1.PlacementApart)...)
	topology := path.Child("topology")
	switch placement.Topology {
	case vmv1alpha1.PlacementTopologyZone:
	case "":
		errs = append(errs, field.Required(topology, "must be Zone"))
	case "Host":
		errs = append(errs, field.Invalid(topology, placement.Topology, "must be Zone: placement by host requires DRS rules, "+
			"which an administrator creates in vSphere"))
	default:
		errs = append(errs, field.NotSupported(topology, placement.Topology, []vmv1alpha1.PlacementTopology{vmv1alpha1.PlacementTopologyZone}))
	}
	return errs
}
