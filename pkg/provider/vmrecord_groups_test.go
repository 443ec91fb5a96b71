// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// group returns a group with a parent group and members. A member whose name begins with a slash is a group.
func group(name, above string, members ...string) *vmv1alpha1.VirtualMachineGroup {
	g := &vmv1alpha1.VirtualMachineGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	g.Spec.GroupName = above
	for _, m := range members {
		member := vmv1alpha1.VirtualMachineGroupMember{Kind: vmv1alpha1.MachineMemberKind, Name: m}
		if in, ok := strings.CutPrefix(m, "/"); ok {
			member = vmv1alpha1.VirtualMachineGroupMember{Kind: vmv1alpha1.GroupMemberKind, Name: in}
		}
		g.Spec.BootOrder = append(g.Spec.BootOrder, vmv1alpha1.VirtualMachineGroupStep{Members: []vmv1alpha1.VirtualMachineGroupMember{member}})
	}
	return g
}

// namespace has groups, and virtual machines with the name of their group.
func namespace(machines map[string]string, groups ...*vmv1alpha1.VirtualMachineGroup) vmrecord.Namespace {
	return vmrecord.Namespace{
		Group: func(name string) *vmv1alpha1.VirtualMachineGroup {
			for _, g := range groups {
				if g.Name == name {
					return g
				}
			}
			return nil
		},
		Machine: func(name string) *vmv1alpha1.VirtualMachine {
			above, ok := machines[name]
			if !ok {
				return nil
			}
			return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: vmv1alpha1.VirtualMachineSpec{GroupName: above}}
		},
	}
}

func TestGroupsOf_StoresAGroupInTheFirstVMByName(t *testing.T) {
	const unknown = "unknown"
	shop, site := group("shop", "site", "web", "db", "gone"), group("site", "", "/shop", "edge", "a")
	for name, tc := range map[string]struct {
		machines map[string]string
		groups   []*vmv1alpha1.VirtualMachineGroup
		want     map[string]string
	}{
		"in a group with a parent": {
			map[string]string{"web": "shop", "db": "shop", "edge": "site"}, []*vmv1alpha1.VirtualMachineGroup{shop, site},
			map[string]string{"db": "shop site", "web": "", "edge": ""},
		},
		"a VM of another group is ignored": {
			map[string]string{"web": "shop", "db": "other", "a": "other"}, []*vmv1alpha1.VirtualMachineGroup{shop, site, group("other", "", "db")},
			map[string]string{"web": "shop site", "db": "other", "a": ""},
		},
		"the parent has an earlier VM": {
			map[string]string{"web": "shop", "a": "site"}, []*vmv1alpha1.VirtualMachineGroup{shop, site},
			map[string]string{"web": "shop", "a": "site"},
		},
		"the group does not exist":  {map[string]string{"web": "shop"}, nil, map[string]string{"web": unknown}},
		"the parent does not exist": {map[string]string{"web": "shop"}, []*vmv1alpha1.VirtualMachineGroup{shop}, map[string]string{"web": unknown}},
		"in no group":               {map[string]string{"web": ""}, nil, map[string]string{"web": ""}},
		"in a cycle": {
			map[string]string{"web": "x"}, []*vmv1alpha1.VirtualMachineGroup{group("x", "y", "web", "/y"), group("y", "x", "/x")},
			map[string]string{"web": strings.TrimSpace(strings.Repeat("x y ", 4))},
		},
	} {
		n, got := namespace(tc.machines, tc.groups...), map[string]string{}
		for vm := range tc.machines {
			groups := n.GroupsOf(n.Machine(vm))
			var names []string
			for _, g := range groups.Kept {
				names = append(names, g.Name)
				if keeper := n.StoringVM(n.Group(g.Name)); keeper != vm {
					t.Errorf("%s: %s stores %s, but StoringVM returns %q", name, vm, g.Name, keeper)
				}
			}
			if got[vm] = strings.Join(names, " "); !groups.Known {
				got[vm] = unknown
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	n := namespace(map[string]string{"web": "shop", "a": "site"}, shop, site)
	if diff := cmp.Diff([]string{"web", "a"}, n.StoringVMs("shop")); diff != "" {
		t.Errorf("VMs that store shop and its parent (-want +got):\n%s", diff)
	}
	if keeper := namespace(nil, shop).StoringVM(shop); keeper != "" {
		t.Errorf("%q stores a group without a virtual machine", keeper)
	}
}

func TestHead_HasAHashOfTheGroups(t *testing.T) {
	vm := machine()
	vm.Spec.GroupName = "shop"
	of := func(g *vmv1alpha1.VirtualMachineGroup) vmrecord.Groups { return namespace(nil, g).GroupsOf(vm) }
	head := vmrecord.HeadOf(vm).WithGroups(of(group("shop", "", "web")), vmrecord.Head{})
	again := group("shop", "", "web")
	again.UID, again.Generation, again.ResourceVersion = "another", 9, "7"
	again.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	again.Status.PowerState = vmv1alpha1.PoweredOn
	if got := vmrecord.HeadOf(vm).WithGroups(of(again), vmrecord.Head{}); got != head || got.Groups == "" {
		t.Errorf("the recreated group has the head %s, before it had %s", got, head)
	}
	changed := group("shop", "", "web")
	changed.Spec.PowerState = vmv1alpha1.PoweredOff
	if got := vmrecord.HeadOf(vm).WithGroups(of(changed), vmrecord.Head{}); got == head || got.Compare(head) != vmrecord.Same || !got.SameGeneration(head) {
		t.Errorf("another power state of the group: head %s, before it was %s", got, head)
	}
	if got := vmrecord.ParseHead(head.String()); got != head {
		t.Errorf("parsed %+v, want %+v", got, head)
	}
	large := group("shop", "", "web")
	for range 600 {
		large.Spec.BootOrder = append(large.Spec.BootOrder, vmv1alpha1.VirtualMachineGroupStep{Members: []vmv1alpha1.VirtualMachineGroupMember{{Name: strings.Repeat("x", 50)}}})
	}
	if got := of(large); !got.TooLarge || !got.Known || len(got.Kept) != 0 {
		t.Errorf("for a group of more than %d bytes %d groups are stored, too large: %v", vmrecord.MaxGroups, len(got.Kept), got.TooLarge)
	}
}

func TestParentGroups_OmitsGroupsThatDoNotListTheVM(t *testing.T) {
	shop, site := vmrecord.Group{Name: "shop", Spec: group("", "site", "web").Spec}, vmrecord.Group{Name: "site", Spec: group("", "", "/shop").Spec}
	for name, tc := range map[string]struct {
		in     string
		groups []vmrecord.Group
		want   []vmrecord.Group
	}{
		"all are valid":                      {"shop", []vmrecord.Group{shop, site}, []vmrecord.Group{shop, site}},
		"the VM is in no group":              {"", []vmrecord.Group{shop, site}, nil},
		"the VM is in another group":         {"site", []vmrecord.Group{shop, site}, nil},
		"the group does not list the VM":     {"shop", []vmrecord.Group{{Name: "shop", Spec: group("", "site", "db").Spec}, site}, nil},
		"the parent is another group":        {"shop", []vmrecord.Group{shop, {Name: "other", Spec: site.Spec}}, []vmrecord.Group{shop}},
		"the parent does not list the group": {"shop", []vmrecord.Group{shop, {Name: "site", Spec: group("", "", "/x").Spec}}, []vmrecord.Group{shop}},
	} {
		r := &vmrecord.Record{Name: "web", Groups: tc.groups}
		r.Spec.GroupName = tc.in
		if diff := cmp.Diff(tc.want, r.ParentGroups(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
