// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Behaviors F24, F29, F32, F39, F49, F53, F54, F55, F56 of test/behaviours.
func TestChain_ReportsFailuresInConditions(t *testing.T) {
	for _, tc := range []struct {
		name, vm string
		want     map[string]string
		message  string
	}{
		{"missing instance type", "{instancetype: {name: gone}}",
			map[string]string{"InstancetypeReady": "False NotFound", "Synchronized": "False NotFound"}, `"gone"`},
		{"missing preference", "{instancetype: {name: small}, preference: {name: gone}}",
			map[string]string{"InstancetypeReady": "True Succeeded", "PreferenceReady": "False NotFound", "Synchronized": "False NotFound"}, `"gone"`},
		{"bad kind", "{instancetype: {name: small, kind: Foo}}",
			map[string]string{"InstancetypeReady": "False Invalid", "Synchronized": "False Invalid"}, "got unexpected kind in InstancetypeMatcher: Foo"},
		{"bad kind of preference", "{instancetype: {name: small}, preference: {name: linux, kind: Foo}}",
			map[string]string{"InstancetypeReady": "True Succeeded", "PreferenceReady": "False Invalid", "Synchronized": "False Invalid"}, "got unexpected kind in PreferenceMatcher: Foo"},
		{"conflict", "{instancetype: {name: small}, cpu: {cores: 2}}",
			map[string]string{"InstancetypeReady": "False Conflict", "Synchronized": "False Conflict"}, "spec.cpu.cores"},
		{"requirements", "{instancetype: {name: small}, preference: {name: greedy}}",
			map[string]string{"InstancetypeReady": "True Succeeded", "PreferenceReady": "False RequirementsNotMet", "Synchronized": "False RequirementsNotMet"}, "preference requires 64 vCPU"},
		{"pin that does not exist", "{instancetype: {name: small, revisionName: nowhere}}",
			map[string]string{"InstancetypeReady": "False NotFound", "Synchronized": "False NotFound"}, `"nowhere"`},
		{"missing class", "{className: gone}",
			map[string]string{"ClassReady": "False NotFound", "Synchronized": "False NotFound"}, `classes "gone" not found`},
		{"class and own size", "{className: gold, cpu: {sockets: 1}}",
			map[string]string{"ClassReady": "False Conflict", "Synchronized": "False Conflict"}, "spec.cpu"},
		{"no size", "{}", map[string]string{"Synchronized": "False Invalid"}, "set className, instancetype, or cpu and memory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture()
			f.add(t, clusterIT, "small", "s", 1, small)
			f.add(t, clusterPref, "linux", "l", 1, "{}")
			f.add(t, clusterPref, "greedy", "g", 1, "{requirements: {cpu: {guest: 64}}}")
			f.classes["gold"] = &vmv1alpha1.VirtualMachineClass{Spec: *parse[vmv1alpha1.VirtualMachineClassSpec](t, "{cpu: {sockets: 2}, memory: {guest: 1Gi}}")}
			out, err := sync(t, f, vmOf(t, tc.vm))
			if err == nil || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("error %v, want one with %q", err, tc.message)
			}
			if diff := cmp.Diff(tc.want, reasons(out)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			c := condition(t, out, "Synchronized")
			if !strings.Contains(c.Message, tc.message) || strings.Contains(c.Message, "\n") || c.ObservedGeneration != 3 || !c.LastTransitionTime.Equal(&start) {
				t.Errorf("condition %+v", c)
			}
			if out.Status.InstancetypeRef != nil || out.Status.PreferenceRef != nil || f.created != nil {
				t.Errorf("stored %+v, %+v, %v", out.Status.InstancetypeRef, out.Status.PreferenceRef, f.created)
			}
		})
	}
}

// Behaviors F56 of test/behaviours.
func TestInstancetype_ContinuesWhenTheSourceIsCreated(t *testing.T) {
	for _, kind := range []instancetype.Kind{clusterIT, instancetype.KindInstancetype, clusterPref, instancetype.KindPreference} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFixture()
			spec, content, ready := "{instancetype: {name: small, kind: "+string(kind)+"}}", small, "InstancetypeReady"
			if kind.Role() == pref {
				spec, content, ready = "{cpu: {sockets: 1}, memory: {guest: 1Gi}, preference: {name: small, kind: "+string(kind)+"}}", "{}", "PreferenceReady"
			}
			vm, err := sync(t, f, vmOf(t, spec))
			if err == nil {
				t.Fatal("a missing source caused no error")
			}
			for _, tc := range []string{"False NotFound", "True Succeeded"} {
				want := map[string]string{ready: tc, "Synchronized": tc}
				if diff := cmp.Diff(want, reasons(vm)); diff != "" {
					t.Errorf("conditions (-want +got):\n%s", diff)
				}
				if tc == "False NotFound" {
					f.add(t, kind, "small", "s", 1, content)
					vm = mustSync(t, f, vm)
				}
			}
		})
	}
}

// A change to a source that cannot be used leaves the pinned revision in the status. Its other fields are still
// updated.
func TestInstancetype_KeepsThePinnedRevisionIfASwitchFails(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	f.add(t, clusterIT, "odd", "o", 1, "{cpu: {guest: 3}, memory: {guest: 1Gi}}")
	f.add(t, clusterPref, "spread", "p", 1, "{cpu: {preferredCPUTopology: spread}}")
	vm := mustSync(t, f, vmOf(t, "{instancetype: {name: small}, preference: {name: spread}}")).DeepCopy()
	for _, m := range []string{"{name: odd}", "{name: gone}", "{name: small, revisionName: nowhere}", "{name: small, kind: Foo}"} {
		vm.Spec.Instancetype = parse[vmv1alpha1.InstancetypeMatcher](t, m)
		out, err := sync(t, f, vm)
		if err == nil || out.Status.InstancetypeRef.ControllerRevisionRef.Name != "small-v1alpha1-s-1" || out.Status.PreferenceRef == nil {
			t.Errorf("%s: references %+v, %+v, error %v", m, out.Status.InstancetypeRef, out.Status.PreferenceRef, err)
		}
		if got := condition(t, out, "InstancetypeReady"); got.Status != metav1.ConditionFalse {
			t.Errorf("%s: condition %+v", m, got)
		}
	}
	if len(f.created) != 2 {
		t.Errorf("created %v, want the first two only", f.created)
	}
}

func TestInstancetype_ReportsAConflictWithAPinnedRevision(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	vm := mustSync(t, f, vmOf(t, "{instancetype: {name: small}}")).DeepCopy()
	f.add(t, clusterIT, "small", "s", 2, small)
	vm.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Cores: 2}
	out, err := sync(t, f, vm)
	if err == nil || !out.Status.InstancetypeRef.Outdated || reasons(out)["InstancetypeReady"] != "False Conflict" {
		t.Errorf("reference %+v, conditions %v, error %v", out.Status.InstancetypeRef, reasons(out), err)
	}
}
