// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

type group = vmv1alpha1.VirtualMachineGroup

// groups returns a group of the namespace, or nil if it does not exist.
type groups func(name string) *group

// linkProblem is the reason why a member is not linked to its group.
type linkProblem struct{ reason, message string }

// parentOf returns the parent of g, or nil if it has none. If spec.groupName is set and g is not linked, it returns the problem.
func parentOf(g *group, find groups) (parent *group, problem *linkProblem) {
	name := g.Spec.GroupName
	if name == "" {
		return nil, nil
	}
	above := find(name)
	switch {
	case above == nil:
		return nil, &linkProblem{vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachineGroup %q in spec.groupName does not exist", name)}
	case !above.HasMember(vmv1alpha1.GroupMemberKind, g.Name):
		return nil, &linkProblem{vmv1alpha1.ReasonNotLinked, fmt.Sprintf("spec.bootOrder of VirtualMachineGroup %q does not name this group", name)}
	}
	if problem := nestingProblem(g, find); problem != nil {
		return nil, problem
	}
	return above, nil
}

// nestingProblem returns a problem if g contains itself through other groups, or is nested too deeply.
func nestingProblem(g *group, find groups) *linkProblem {
	path := []string{g.Name}
	for at := g; at != nil && at.Spec.GroupName != ""; at = find(at.Spec.GroupName) {
		name := at.Spec.GroupName
		if name == g.Name {
			return &linkProblem{vmv1alpha1.ReasonInvalid, fmt.Sprintf("spec.groupName of these groups forms a cycle: %s", strings.Join(append(path, name), ", "))}
		}
		if slices.Contains(path, name) {
			return nil // g is not part of the cycle; its members report it
		}
		path = append(path, name)
		if len(path)-1 > vmv1alpha1.MaxGroupDepth {
			return &linkProblem{vmv1alpha1.ReasonInvalid, fmt.Sprintf("nested more than %d levels deep: %s", vmv1alpha1.MaxGroupDepth, strings.Join(path, ", "))}
		}
	}
	return nil
}
