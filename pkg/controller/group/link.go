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

// groups finds a group of the namespace; nil if there is none.
type groups func(name string) *group

// unlinked says why a member is not linked to the group that it shall be in.
type unlinked struct{ reason, message string }

// linked tells whether g is in the group that its spec names: the parent, nil if it is in
// none, and why if it should be.
func linked(g *group, find groups) (parent *group, why *unlinked) {
	name := g.Spec.GroupName
	if name == "" {
		return nil, nil
	}
	above := find(name)
	switch {
	case above == nil:
		return nil, &unlinked{vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachineGroup %q, which spec.groupName names, does not exist", name)}
	case !above.Names(vmv1alpha1.GroupMemberKind, g.Name):
		return nil, &unlinked{vmv1alpha1.ReasonNotLinked, fmt.Sprintf("spec.bootOrder of VirtualMachineGroup %q does not name this group", name)}
	}
	if why := misplaced(g, find); why != nil {
		return nil, why
	}
	return above, nil
}

// misplaced says that g is in itself by way of others, or in too many groups.
func misplaced(g *group, find groups) *unlinked {
	path := []string{g.Name}
	for at := g; at != nil && at.Spec.GroupName != ""; at = find(at.Spec.GroupName) {
		name := at.Spec.GroupName
		if name == g.Name {
			return &unlinked{vmv1alpha1.ReasonInvalid, fmt.Sprintf("the groups are in a circle by their spec.groupName: %s", strings.Join(append(path, name), ", "))}
		}
		if slices.Contains(path, name) {
			return nil // A circle that it is not part of; those in it say so.
		}
		path = append(path, name)
		if len(path)-1 > vmv1alpha1.MaxGroupDepth {
			return &unlinked{vmv1alpha1.ReasonInvalid, fmt.Sprintf("it is in more than %d groups, one in another: %s", vmv1alpha1.MaxGroupDepth, strings.Join(path, ", "))}
		}
	}
	return nil
}
