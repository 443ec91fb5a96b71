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

// MaxGroups bounds what a virtual machine keeps of groups, in bytes of JSON: so that its own
// record has room beside them whatever they are compressed to.
const MaxGroups = 24 << 10

// Group is a group as a virtual machine in it keeps it. Groups have no vSphere object of
// their own, so that one of their virtual machines keeps them.
type Group struct {
	// Name of the group.
	Name string `json:"name"`
	// Labels and Annotations that it had.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Spec that it had.
	Spec vmv1alpha1.VirtualMachineGroupSpec `json:"spec"`
}

// Groups are what one virtual machine keeps of groups. The zero value is not known: what is
// kept already stays.
type Groups struct {
	// Kept are the group that it is in, the one that this is in, and so on.
	Kept []Group
	// Known is false while the group that is named somewhere on the way does not exist, as in
	// a store that is being recovered.
	Known bool
	// TooLarge is true when there was more to keep than MaxGroups.
	TooLarge bool
	sum      string
}

// Namespace finds the objects of a namespace; nil stands for what does not exist.
type Namespace struct {
	// Group finds a group by its name.
	Group func(name string) *vmv1alpha1.VirtualMachineGroup
	// Machine finds a virtual machine by its name.
	Machine func(name string) *vmv1alpha1.VirtualMachine
}

// GroupsOf are the groups that vm keeps. Of all virtual machines that are in a group, or in a
// group in it, the first by name keeps it: it is also the first to be recovered.
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
		if !g.Names(kind, name) || n.before(g, vm.Name, vmv1alpha1.MaxGroupDepth) != "" {
			break
		}
		kept = append(kept, Group{Name: g.Name, Labels: keptOf(g.Labels), Annotations: keptOf(g.Annotations), Spec: g.Spec})
		kind, name, above = vmv1alpha1.GroupMemberKind, g.Name, g.Spec.GroupName
	}
	return summed(kept)
}

// summed are kept with their sum, as far as there is room for them.
func summed(kept []Group) Groups {
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
	out.sum = fmt.Sprintf("%016x", h.Sum64())
	return out
}

// Keeper is the name of the virtual machine that keeps g; empty if there is none.
func (n Namespace) Keeper(g *vmv1alpha1.VirtualMachineGroup) string {
	keeper, than := "", "\xff"
	for than != "" {
		keeper, than = than, n.before(g, than, vmv1alpha1.MaxGroupDepth)
	}
	if keeper == "\xff" {
		return ""
	}
	return keeper
}

// before is a virtual machine of g, or of a group in it, with a name before than; empty for
// none.
func (n Namespace) before(g *vmv1alpha1.VirtualMachineGroup, than string, depth int) string {
	for i := range g.Spec.BootOrder {
		for _, m := range g.Spec.BootOrder[i].Members {
			if m.Is(vmv1alpha1.MachineMemberKind, m.Name) {
				if m.Name >= than {
					continue
				}
				if vm := n.Machine(m.Name); vm != nil && vm.Spec.GroupName == g.Name {
					return m.Name
				}
			} else if depth > 1 {
				if in := n.Group(m.Name); in != nil && in.Spec.GroupName == g.Name {
					if name := n.before(in, than, depth-1); name != "" {
						return name
					}
				}
			}
		}
	}
	return ""
}

// Keepers are the virtual machines that keep the group of a name and those that it is in.
func (n Namespace) Keepers(group string) []string {
	var all []string
	for range vmv1alpha1.MaxGroupDepth {
		g := n.Group(group)
		if g == nil {
			break
		}
		if keeper := n.Keeper(g); keeper != "" && !slices.Contains(all, keeper) {
			all = append(all, keeper)
		}
		group = g.Spec.GroupName
	}
	return all
}

// SameGroup reports whether a record of now would say the same of two states of a group.
func SameGroup(a, b *vmv1alpha1.VirtualMachineGroup) bool {
	return a.UID == b.UID && a.Generation == b.Generation &&
		maps.Equal(keptOf(a.Labels), keptOf(b.Labels)) && maps.Equal(keptOf(a.Annotations), keptOf(b.Annotations))
}

// ParentGroups are the groups of r that its virtual machine is in as r itself says: each is
// named by the one before and names it. Nobody else's group can be among them.
func (r *Record) ParentGroups() []Group {
	var out []Group
	kind, name, above := vmv1alpha1.MachineMemberKind, r.Name, r.Spec.GroupName
	for _, g := range r.Groups {
		object := &vmv1alpha1.VirtualMachineGroup{Spec: g.Spec}
		if g.Name == "" || g.Name != above || !object.Names(kind, name) || len(out) == vmv1alpha1.MaxGroupDepth {
			break
		}
		out = append(out, g)
		kind, name, above = vmv1alpha1.GroupMemberKind, g.Name, g.Spec.GroupName
	}
	return out
}
