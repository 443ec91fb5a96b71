// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	versionedfake "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
)

func TestFlagsZone_IsReplacedByObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		flags     bool     // describe a vCenter
		vcenter   bool     // an object describes the default one
		zones     []string // objects, of the default vCenter
		old       bool     // a VM created before there were zones
		choice    []string
		inVCenter []string
	}{
		"nothing":                           {inVCenter: []string{"default"}},
		"flags":                             {flags: true, choice: []string{"default"}, inVCenter: []string{"default"}},
		"a VCenter":                         {vcenter: true, choice: []string{"default"}, inVCenter: []string{"default"}},
		"flags and zones":                   {flags: true, zones: []string{"a"}, choice: []string{"a", "default"}, inVCenter: []string{"a", "default"}},
		"flags and a zone of the name":      {flags: true, zones: []string{"default"}, choice: []string{"default"}, inVCenter: []string{"default"}},
		"a VCenter and zones":               {vcenter: true, zones: []string{"a"}, choice: []string{"a"}, inVCenter: []string{"a"}},
		"a VCenter, zones, and an older VM": {vcenter: true, zones: []string{"a"}, old: true, choice: []string{"a"}, inVCenter: []string{"a", "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			informers := externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0)
			s := newZoneSet(informers, tc.flags)
			if _, known := s.choice(); known {
				t.Error("zones are known before they are read")
			}
			s.synced = nil
			add := func(indexer interface{ Add(any) error }, obj any) {
				t.Helper()
				if err := indexer.Add(obj); err != nil {
					t.Fatal(err)
				}
			}
			vm := informers.Vm().V1alpha1()
			if tc.vcenter {
				add(vm.VCenters().Informer().GetIndexer(), &vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
			}
			for _, name := range tc.zones {
				add(vm.Zones().Informer().GetIndexer(), &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}})
			}
			if tc.old {
				add(vm.VirtualMachines().Informer().GetIndexer(), &vmv1alpha1.VirtualMachine{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "old"}, Status: vmv1alpha1.VirtualMachineStatus{UniqueID: "vm-1"},
				})
			}
			all, known := s.choice()
			var names []string
			for _, z := range all {
				names = append(names, z.Name)
			}
			if diff := cmp.Diff(tc.choice, names); diff != "" || !known {
				t.Errorf("to choose from, known %t (-want +got):\n%s", known, diff)
			}
			if diff := cmp.Diff(tc.inVCenter, slices.Sorted(maps.Keys(s.in("default")))); diff != "" {
				t.Errorf("in the vCenter (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVCenterOf_ReturnsTheVCenterOfTheZone(t *testing.T) {
	informers := externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0)
	s := newZoneSet(informers, false)
	z := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: vmv1alpha1.ZoneSpec{VCenter: "one"}}
	if err := informers.Vm().V1alpha1().Zones().Informer().GetIndexer().Add(z); err != nil {
		t.Fatal(err)
	}
	creating := []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: "False", Reason: vmv1alpha1.ReasonCreating}}
	waiting := []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: "False", Reason: vmv1alpha1.ReasonWaitingForPrerequisites}}
	for name, tc := range map[string]struct {
		status vmv1alpha1.VirtualMachineStatus
		want   string
	}{
		"new":                      {},
		"waiting":                  {status: vmv1alpha1.VirtualMachineStatus{Conditions: waiting}},
		"in a zone":                {status: vmv1alpha1.VirtualMachineStatus{Zone: "a"}, want: "one"},
		"in the zone of the flags": {status: vmv1alpha1.VirtualMachineStatus{Zone: "default"}, want: "default"},
		"in a deleted zone":        {status: vmv1alpha1.VirtualMachineStatus{Zone: "b"}},
		"older than zones":         {status: vmv1alpha1.VirtualMachineStatus{UniqueID: "vm-1"}, want: "default"},
		"older, being created":     {status: vmv1alpha1.VirtualMachineStatus{Conditions: creating}, want: "default"},
		"in a zone, being created": {status: vmv1alpha1.VirtualMachineStatus{Zone: "a", Conditions: creating}, want: "one"},
	} {
		if got := s.vcenterOf(&vmv1alpha1.VirtualMachine{Status: tc.status}); got != tc.want {
			t.Errorf("a VM %s is of vCenter %q, want %q", name, got, tc.want)
		}
	}
}

// outdated is a lister whose objects change right after a list.
type outdated struct {
	vmlisters.ZoneLister
	changes []func()
}

// List implements vmlisters.ZoneLister.
func (o *outdated) List(selector labels.Selector) ([]*vmv1alpha1.Zone, error) {
	all, err := o.ZoneLister.List(selector)
	if len(o.changes) > 0 {
		change := o.changes[0]
		o.changes = o.changes[1:]
		change()
	}
	return all, err
}

func TestUse_SetsAZoneThatIsAddedConcurrently(t *testing.T) {
	r := newReplica(t)
	come := func(name string) func() {
		return func() {
			late := r.zone()
			late.Name = name
			r.must(r.zones.informer.GetIndexer().Add(late))
			r.updateZones() // as of every event
		}
	}
	// Zones are listed once before the vCenter is opened, and once for it.
	r.zones.zones = &outdated{ZoneLister: r.zones.zones, changes: []func(){come("early"), come("late")}}
	r.must(r.Use(t.Context(), "one", r.one))
	t.Cleanup(func() { r.must(r.Use(context.Background(), "one", nil)) })
	members, _ := r.fleet.Members()
	for _, name := range []string{"a", "early", "late"} {
		if state := members["one"].driver.ZoneState(t.Context(), name); !state.Read {
			t.Errorf("the vCenter reports for zone %s: %v", name, state.Trouble)
		}
	}
}
