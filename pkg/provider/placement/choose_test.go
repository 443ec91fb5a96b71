// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const gib = 1 << 30

// offer returns the check of a zone in which half of the resources are free. change modifies it.
func offer(zone string, change func(*provider.ZoneCheck)) provider.ZoneCheck {
	o := provider.ZoneCheck{
		Zone:     zone,
		Capacity: provider.Resources{CPU: 100e9, Memory: 100 * gib, Storage: 1000 * gib},
		Free:     provider.Resources{CPU: 50e9, Memory: 50 * gib, Storage: 500 * gib},
	}
	if change != nil {
		change(&o)
	}
	return o
}

func TestChoose(t *testing.T) {
	lacks := func(o *provider.ZoneCheck) { o.Refusal = errors.New("full") }
	unknown := func(o *provider.ZoneCheck) { o.CheckErr = errors.New("unreachable") }
	rated := func(n int32) func(*provider.ZoneCheck) { return func(o *provider.ZoneCheck) { o.Rating = n } }
	together := func(others map[string]int) *Group {
		return &Group{Name: "shop", Policy: vmv1alpha1.PlacementTogether, Others: others}
	}
	apart := func(others map[string]int) *Group {
		return &Group{Name: "shop", Policy: vmv1alpha1.PlacementApart, Others: others}
	}
	for name, tc := range map[string]struct {
		offers  []provider.ZoneCheck
		taken   map[string]Reserved
		group   *Group
		want    string
		refused int
	}{
		"no zones":                 {want: ""},
		"no usable zone":           {offers: []provider.ZoneCheck{offer("a", lacks), offer("b", unknown)}, want: "", refused: 2},
		"the only usable zone":     {offers: []provider.ZoneCheck{offer("a", lacks), offer("b", nil), offer("c", unknown)}, want: "b", refused: 2},
		"the zone that has the VM": {offers: []provider.ZoneCheck{offer("a", nil), offer("b", func(o *provider.ZoneCheck) { o.HasVM = true })}, want: "b"},
		"the first of equal zones": {offers: []provider.ZoneCheck{offer("b", nil), offer("a", nil)}, want: "a"},
		"most free memory":         {offers: []provider.ZoneCheck{offer("a", nil), offer("b", func(o *provider.ZoneCheck) { o.Free.Memory = 60 * gib })}, want: "b"},
		"most of the scarcest resource": {offers: []provider.ZoneCheck{
			offer("a", func(o *provider.ZoneCheck) { o.Free.Storage = 100 * gib }), offer("b", func(o *provider.ZoneCheck) { o.Free.Memory = 40 * gib }),
		}, want: "b"},
		"a full zone is better than none": {offers: []provider.ZoneCheck{offer("a", func(o *provider.ZoneCheck) { o.Free.Memory = 0 })}, want: "a"},
		"the less full zone": {offers: []provider.ZoneCheck{
			offer("a", func(o *provider.ZoneCheck) { o.Free.Memory = 0 }), offer("b", func(o *provider.ZoneCheck) { o.Free.Memory = gib }),
		}, want: "b"},
		"reserved resources are subtracted": {offers: []provider.ZoneCheck{offer("a", nil), offer("b", nil)}, taken: map[string]Reserved{
			"a": {Resources: provider.Resources{Memory: gib}, Count: 1},
		}, want: "b"},
		"the number of VMs with reservations decides between equal zones": {offers: []provider.ZoneCheck{
			offer("a", func(o *provider.ZoneCheck) { o.Free.CPU = 0 }), offer("b", func(o *provider.ZoneCheck) { o.Free.CPU = 0 }),
		}, taken: map[string]Reserved{"a": {Count: 2}, "b": {Count: 1}}, want: "b"},
		"by DRS": {offers: []provider.ZoneCheck{
			offer("a", rated(2)), offer("b", func(o *provider.ZoneCheck) { o.Rating, o.Free.Memory = 5, 20*gib }),
		}, want: "b"},
		"by DRS only if all zones are rated": {offers: []provider.ZoneCheck{
			offer("a", nil), offer("b", func(o *provider.ZoneCheck) { o.Rating, o.Free.Memory = 5, 20*gib }),
		}, want: "a"},
		"equal DRS ratings": {offers: []provider.ZoneCheck{
			offer("a", rated(1)), offer("b", func(o *provider.ZoneCheck) { o.Rating, o.Free = 1, o.Capacity }),
		}, want: "b"},
		"together with the others": {offers: []provider.ZoneCheck{offer("a", func(o *provider.ZoneCheck) { o.Free = o.Capacity }), offer("b", nil)},
			group: together(map[string]int{"b": 1}), want: "b", refused: 1},
		"together without other members":            {offers: []provider.ZoneCheck{offer("a", nil), offer("b", nil)}, group: together(nil), want: "a"},
		"together, but their zone is full":          {offers: []provider.ZoneCheck{offer("a", nil), offer("b", lacks)}, group: together(map[string]int{"b": 1}), want: "", refused: 2},
		"together, but another zone has the VM":     {offers: []provider.ZoneCheck{offer("a", func(o *provider.ZoneCheck) { o.HasVM = true })}, group: together(map[string]int{"b": 1}), want: "a"},
		"apart from the others":                     {offers: []provider.ZoneCheck{offer("a", rated(9)), offer("b", rated(1))}, group: apart(map[string]int{"a": 1}), want: "b"},
		"apart, in the zone with the fewest others": {offers: []provider.ZoneCheck{offer("a", nil), offer("b", nil)}, group: apart(map[string]int{"a": 2, "b": 1}), want: "b"},
		"apart, but only one zone is usable":        {offers: []provider.ZoneCheck{offer("a", nil), offer("b", lacks)}, group: apart(map[string]int{"a": 1}), want: "a", refused: 1},
		"apart, equal numbers of others": {offers: []provider.ZoneCheck{offer("a", nil), offer("b", func(o *provider.ZoneCheck) { o.Free = o.Capacity })},
			group: apart(map[string]int{"a": 1, "b": 1}), want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			zone, refusals := Choose(tc.offers, provider.Resources{Memory: 4 * gib, Storage: 20 * gib}, tc.taken, tc.group)
			if zone != tc.want || len(refusals) != tc.refused {
				t.Errorf("chose %q, refused %v; want %q and %d refusals", zone, refusals, tc.want, tc.refused)
			}
		})
	}
}

func TestCandidateZones(t *testing.T) {
	zone := func(name string, selects map[string]string) *vmv1alpha1.Zone {
		z := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if selects != nil {
			z.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: selects}
		}
		return z
	}
	leaving := zone("leaving", nil)
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	all := []*vmv1alpha1.Zone{zone("a", nil), zone("b", map[string]string{"team": "b"}), leaving}
	for name, tc := range map[string]struct {
		spec, label string
		inPlace     string
		labels      map[string]string
		left        []string
		reason      string
		message     string
	}{
		"all zones that the namespace may use": {labels: map[string]string{"team": "b"}, left: []string{"a", "b"}, reason: "NoZone", message: "zone leaving: the zone is being deleted"},
		"not zones of other namespaces": {labels: map[string]string{}, left: []string{"a"}, reason: "NoZone",
			message: "zone b: spec.namespaceSelector does not select namespace dev; zone leaving: the zone is being deleted"},
		"unknown labels": {left: []string{"a"}, reason: "UnknownState",
			message: "zone b: the labels of the namespace are not known; zone leaving: the zone is being deleted"},
		"the zone in spec":                    {spec: "a", left: []string{"a"}},
		"the zone in the label":               {label: "a", left: []string{"a"}},
		"the fallback zone":                   {inPlace: "a", left: []string{"a"}},
		"no fallback for a specified zone":    {spec: "a", inPlace: "c", left: []string{"a"}},
		"a fallback zone that does not exist": {inPlace: "c", reason: "NotFound", message: "zone c: the Zone does not exist"},
		"a zone that is not allowed":          {spec: "b", labels: map[string]string{}, reason: "NotAllowed", message: "zone b: spec.namespaceSelector does not select namespace dev"},
		"a zone that does not exist":          {label: "c", reason: "NotFound", message: "zone c: the Zone does not exist"},
		"a zone that is being deleted":        {spec: "leaving", reason: "NoZone", message: "zone leaving: the zone is being deleted"},
		"two different zones": {spec: "a", label: "b", reason: "NoZone",
			message: `zone b: label topology.kubernetes.io/zone selects this zone but spec.zone is "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev"}, Spec: vmv1alpha1.VirtualMachineSpec{Zone: tc.spec}}
			if tc.label != "" {
				vm.Labels = map[string]string{vmv1alpha1.LabelZone: tc.label}
			}
			left, refusals := CandidateZones(vm, tc.inPlace, tc.labels, all)
			var names []string
			for _, z := range left {
				names = append(names, z.Name)
			}
			if diff := cmp.Diff(tc.left, names); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if tc.message == "" {
				if len(refusals) > 0 {
					t.Errorf("refused %v", refusals)
				}
				return
			}
			if _, reason, message := condition(refusals); reason != tc.reason || message != tc.message {
				t.Errorf("condition %s, %s; want %s, %s", reason, message, tc.reason, tc.message)
			}
		})
	}
}

func TestCondition_ListsEveryZone(t *testing.T) {
	status, reason, message := condition([]Refusal{
		{Zone: "b", Err: &provider.NotUsableError{Message: "no network", Missing: true}},
		{Zone: "a", Err: &provider.NotUsableError{Message: "not allowed", NotAllowed: true}},
	})
	if status != metav1.ConditionFalse || reason != "NoZone" || message != "zone a: not allowed; zone b: no network" {
		t.Errorf("%s %s: %s", status, reason, message)
	}
	if status, reason, _ = condition([]Refusal{{Zone: "a", Err: errors.New("unreachable"), Unknown: true}, {Zone: "b", Err: errors.New("full")}}); status != metav1.ConditionUnknown || reason != "UnknownState" {
		t.Errorf("with a zone that cannot be checked: %s %s", status, reason)
	}
}
