// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmrecord

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// MaxGroups is the maximum size in bytes of the groups in a record, as JSON. It leaves enough space for the rest of the
// record, even if the groups cannot be compressed.
const MaxGroups = 24 << 10

// Group is the record of a group. Groups have no vSphere object, so each is stored in the record of one of its virtual
// machines.
type Group struct {
	// Name of the group.
	Name string `json:"name"`
	// Labels and Annotations of the group.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Spec of the group.
	Spec vmv1alpha1.VirtualMachineGroupSpec `json:"spec"`
}

// Groups are the groups to store in the record of one virtual machine. With the zero value they are not known, and the
// groups in the existing record are kept.
type Groups struct {
	// Kept are the groups to store: the group of the virtual machine, its parent group, and so on.
	Kept []Group
	// Known is false if a group in the chain does not exist, for example during a recovery of the database.
	Known bool
	// TooLarge is true if the groups exceed MaxGroups.
	TooLarge bool
	hash     string
}

// Namespace finds the objects of a namespace. Its functions return nil for objects that do not exist.
type Namespace struct {
	// Group returns a group by name.
	Group func(name string) *vmv1alpha1.VirtualMachineGroup
	// Machine returns a virtual machine by name.
	Machine func(name string) *vmv1alpha1.VirtualMachine
}

// GroupsOf returns the groups to store in the record of vm. A group is stored by the first virtual machine by name in
// the group or in its child groups, because this virtual machine is also recovered first.
func (n Namespace) GroupsOf(vm *vmv1alpha1.VirtualMachine) Groups {
	var kept []Group
	kind, name, above := vmv1alpha1.MachineMemberKind, vm.Name, vm.Spec.GroupName
	for range vmv1alpha1.MaxGroupDepth {
		if above == "" {
			break
		}
		g := n.Group(above)
		if g == nil {
			return Groups{}
		}
		if !g.HasMember(kind, name) || n.memberBefore(g, vm.Name, vmv1alpha1.MaxGroupDepth) != "" {
			break
		}
		kept = append(kept, Group{Name: g.Name, Labels: recordedKeys(g.Labels), Annotations: recordedKeys(g.Annotations), Spec: g.Spec})
		kind, name, above = vmv1alpha1.GroupMemberKind, g.Name, g.Spec.GroupName
	}
	return hashGroups(kept)
}

// hashGroups returns Groups with their hash, or with TooLarge set if they exceed MaxGroups.
func hashGroups(kept []Group) Groups {
	out := Groups{Kept: kept, Known: true}
	if len(kept) == 0 {
		return out
	}
	text, err := json.Marshal(kept)
	if err != nil || len(text) > MaxGroups {
		return Groups{Known: true, TooLarge: true}
	}
	h := fnv.New64a()
	_, _ = h.Write(text)
	out.hash = fmt.Sprintf("%016x", h.Sum64())
	return out
}

// StoringVM returns the name of the virtual machine that stores g; empty if there is none.
func (n Namespace) StoringVM(g *vmv1alpha1.VirtualMachineGroup) string {
	keeper, than := "", "\xff"
	for than != "" {
		keeper, than = than, n.memberBefore(g, than, vmv1alpha1.MaxGroupDepth)
	}
	if keeper == "\xff" {
		return ""
	}
	return keeper
}

// memberBefore returns a virtual machine in g or in a child group whose name is less than than; empty for none.
func (n Namespace) memberBefore(g *vmv1alpha1.VirtualMachineGroup, than string, depth int) string {
	for i := range g.Spec.BootOrder {
		for _, m := range g.Spec.BootOrder[i].Members {
			if m.Matches(vmv1alpha1.MachineMemberKind, m.Name) {
				if m.Name >= than {
					continue
				}
				if vm := n.Machine(m.Name); vm != nil && vm.Spec.GroupName == g.Name {
					return m.Name
				}
			} else if depth > 1 {
				if in := n.Group(m.Name); in != nil && in.Spec.GroupName == g.Name {
					if name := n.memberBefore(in, than, depth-1); name != "" {
						return name
					}
				}
			}
		}
	}
	return ""
}

// StoringVMs returns the virtual machines that store the given group and its parent groups.
func (n Namespace) StoringVMs(group string) []string {
	var all []string
	for range vmv1alpha1.MaxGroupDepth {
		g := n.Group(group)
		if g == nil {
			break
		}
		if keeper := n.StoringVM(g); keeper != "" && !slices.Contains(all, keeper) {
			all = append(all, keeper)
		}
		group = g.Spec.GroupName
	}
	return all
}

// SameGroup reports whether two states of a group have the same record.
func SameGroup(a, b *vmv1alpha1.VirtualMachineGroup) bool {
	return a.UID == b.UID && a.Generation == b.Generation &&
		maps.Equal(recordedKeys(a.Labels), recordedKeys(b.Labels)) && maps.Equal(recordedKeys(a.Annotations), recordedKeys(b.Annotations))
}

// ParentGroups returns the groups in r that contain the virtual machine. Each must be referenced by the previous one
// and list it as a member, so that a record cannot contain groups of other users.
func (r *Record) ParentGroups() []Group {
	var out []Group
	kind, name, above := vmv1alpha1.MachineMemberKind, r.Name, r.Spec.GroupName
	for _, g := range r.Groups {
		object := &vmv1alpha1.VirtualMachineGroup{Spec: g.Spec}
		if g.Name == "" || g.Name != above || !object.HasMember(kind, name) || len(out) == vmv1alpha1.MaxGroupDepth {
			break
		}
		out = append(out, g)
		kind, name, above = vmv1alpha1.GroupMemberKind, g.Name, g.Spec.GroupName
	}
	return out
}
