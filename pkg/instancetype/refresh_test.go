// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

const (
	clusterIT   = instancetype.KindClusterInstancetype
	clusterPref = instancetype.KindClusterPreference
)

// outdated returns a VM whose instance type and preference have newer generations.
func outdated(t testing.TB, newSize, newPref string) (*fakeReader, *vmv1alpha1.VirtualMachine) {
	t.Helper()
	w := newFakeReader()
	vm := vmOf(t, "{instancetype: {name: small}, preference: {name: linux}}")
	vm.Status.PowerState = vmv1alpha1.PoweredOn
	w.pin(t, vm, w.add(t, clusterIT, "small", "it-uid", 1, size(2)))
	w.pin(t, vm, w.add(t, clusterPref, "linux", "p-uid", 1, "{}"))
	w.add(t, clusterIT, "small", "it-uid", 2, newSize)
	w.add(t, clusterPref, "linux", "p-uid", 2, newPref)
	return w, vm
}

func TestRefresh_UsesTheNewGeneration(t *testing.T) {
	w, vm := outdated(t, size(4), "{devices: {preferredTPM: {}}}")
	before := vm.DeepCopy()
	plan, err := planRefresh(vm, it, nil, w)
	if err != nil {
		t.Fatal(err)
	}
	want := &vmv1alpha1.RefreshResult{
		SourceName: "small", SourceKind: string(clusterIT), OldSourceName: "small", OldSourceKind: string(clusterIT),
		OldRevision: "small-v1alpha1-it-uid-1", OldGeneration: 1,
		NewRevision: "small-v1alpha1-it-uid-2", NewGeneration: 2,
		Changed: true,
		Fields: []vmv1alpha1.RefreshField{
			{Path: "cpu.sockets", Old: "2", New: "4", Effect: vmv1alpha1.RefreshEffectLive},
			{Path: "memory.guest", Old: "2Gi", New: "4Gi", Effect: vmv1alpha1.RefreshEffectLive},
			{Path: "memory.reservation", Old: "2Gi", New: "4Gi", Effect: vmv1alpha1.RefreshEffectLive},
		},
	}
	want.Name, want.Namespace = "vm", "default"
	if diff := cmp.Diff(want, plan.Result); diff != "" {
		t.Errorf("F142 F150 F157 result (-want +got):\n%s", diff)
	}
	stored := before.DeepCopy()
	stored.Status.InstancetypeRef.ControllerRevisionRef = nil
	if diff := cmp.Diff(stored, plan.VM, quantities); diff != "" {
		t.Errorf("F150 F152 only the instance type's revision must be cleared (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, vm, quantities); diff != "" {
		t.Errorf("the argument was changed (-want +got):\n%s", diff)
	}

	ref, create, err := capture(plan.VM, it, w)
	if err != nil || create == nil || ref.ControllerRevisionRef.Name != plan.Result.NewRevision || ref.Name != "small" || ref.SourceGeneration != 2 || ref.Outdated {
		t.Errorf("F150 the next revision is %+v, %v", ref, err)
	}

	if plan, err = planRefresh(vm, pref, nil, w); err != nil || plan.VM.Status.PreferenceRef.ControllerRevisionRef != nil ||
		plan.VM.Status.InstancetypeRef.ControllerRevisionRef == nil {
		t.Errorf("F152 refresh of the preference: %+v, %v", plan, err)
	}
	if got := plan.Result.Fields; len(got) != 1 || got[0].Path != "devices.tpm" || got[0].Effect != vmv1alpha1.RefreshEffectRestart {
		t.Errorf("F159 a TPM needs a restart: %v", got)
	}
	vm.Spec.UpdateStrategy = vmv1alpha1.UpdateStrategyStage
	if plan, err = planRefresh(vm, it, nil, w); err != nil || plan.Result.Fields[0].Effect != vmv1alpha1.RefreshEffectRestart {
		t.Errorf("F140 with Stage nothing is live: %+v, %v", plan, err)
	}
}

func TestRefresh_ReportsWhenFieldsTakeEffect(t *testing.T) {
	// Two generations differ in a live field, in a field that needs a power cycle, and in a field that never takes
	// effect.
	const newSize = `{cpu: {guest: 4}, memory: {guest: 1Gi}, nodeSelector: {a: b}}`
	for _, tc := range []struct {
		name     string
		state    vmv1alpha1.PowerState
		strategy vmv1alpha1.UpdateStrategy
		running  string
		want     string
	}{
		{"F157 running with the old generation", vmv1alpha1.PoweredOn, "", hotAdd, "Live Restart"},
		{"running, with an unknown spec", vmv1alpha1.PoweredOn, "", "", "Live Restart"},
		{"suspended", vmv1alpha1.Suspended, "", hotAdd, "Live Restart"},
		{"F140 Stage", vmv1alpha1.PoweredOn, vmv1alpha1.UpdateStrategyStage, hotAdd, "Restart Restart"},
		{"F159 powered off, all changes are applied immediately", vmv1alpha1.PoweredOff, "", "", "Live Live"},
		{"not created yet", "", vmv1alpha1.UpdateStrategyStage, "", "Live Live"},
		{"an instance that is about to be removed", vmv1alpha1.PoweredOff, "", hotAdd, "Live Live"},
		{"earlier changes are pending: the VM runs with more vCPUs and the new memory", vmv1alpha1.PoweredOn, "",
			`cpu: {sockets: 8, hotAddEnabled: true}, memory: {guest: 1Gi, hotAddEnabled: true}`, "Restart Live"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := outdated(t, newSize, "{}")
			vm.Status.PowerState, vm.Spec.UpdateStrategy = tc.state, tc.strategy
			var running *vmv1alpha1.VirtualMachineInstanceSpec
			if tc.running != "" {
				running = instanceSpec(t, tc.running)
			}
			plan, err := planRefresh(vm, it, running, w)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]vmv1alpha1.RefreshEffect{}
			for _, f := range plan.Result.Fields {
				got[f.Path] = f.Effect
			}
			if all := string(got["cpu.sockets"] + " " + got["memory.guest"]); all != tc.want || got["nodeSelector"] != vmv1alpha1.RefreshEffectNone {
				t.Errorf("effects %v, want %s of sockets and memory, None of the node selector", got, tc.want)
			}
		})
	}
}

func TestRefresh_ConsidersTheHardwareVersion(t *testing.T) {
	for have, want := range map[int32]vmv1alpha1.RefreshEffect{19: vmv1alpha1.RefreshEffectRestart, 21: vmv1alpha1.RefreshEffectNone} {
		w, vm := outdated(t, size(2), "{machine: {preferredMachineType: vmx-21}}")
		vm.Status.HardwareVersion = have
		plan, err := planRefresh(vm, pref, nil, w)
		if err != nil || len(plan.Result.Fields) != 1 || plan.Result.Fields[0].Effect != want {
			t.Errorf("with hardware version %d: %+v, %v; want %s", have, plan, err, want)
		}
	}
}

func TestRefresh_ChangesNothingIfUpToDate(t *testing.T) {
	w := newFakeReader()
	vm := vmOf(t, "{instancetype: {name: small, kind: virtualMachineClusterInstancetypes}}")
	w.pin(t, vm, w.add(t, clusterIT, "small", "uid", 1, size(2)))
	plan, err := planRefresh(vm, it, nil, w)
	if err != nil || plan.VM != nil || plan.Result.Changed || plan.Result.NewRevision != plan.Result.OldRevision || plan.Result.NewGeneration != 1 {
		t.Errorf("F151 refresh %+v, %v; want no change", plan, err)
	}
	w.add(t, clusterIT, "small", "recreated", 1, size(2))
	if plan, err = planRefresh(vm, it, nil, w); err != nil || !plan.Result.Changed {
		t.Errorf("F161 a recreated source: %+v, %v; want a change", plan, err)
	}
}

func TestRefresh_ClearsTheRevisionInTheSpec(t *testing.T) {
	for _, field := range []string{"revisionName: ", "controllerRevisionRef: {name: "} {
		w, vm := outdated(t, size(4), "{}")
		name := vm.Status.InstancetypeRef.ControllerRevisionRef.Name
		end := ""
		if field[len(field)-6:] == "name: " {
			end = "}"
		}
		vm.Spec = vmOf(t, "{instancetype: {name: small, "+field+name+end+"}, preference: {name: linux}}").Spec
		plan, err := planRefresh(vm, it, nil, w)
		if err != nil {
			t.Fatal(err)
		}
		m := plan.VM.Spec.Instancetype
		if !plan.Result.SpecPinCleared || m.ControllerRevisionRef != nil || m.RevisionName != "" || m.Name != "small" || plan.Result.OldRevision != name {
			t.Errorf("F155 %s: result %+v, matcher %+v", field, plan.Result, m)
		}
	}
}

func TestRefresh_ClearsOnlyTheRevisionInTheSpecIfUpToDate(t *testing.T) {
	w := newFakeReader()
	vm := vmOf(t, "{instancetype: {name: small}}")
	revision := w.pin(t, vm, w.add(t, clusterIT, "small", "uid", 1, size(2)))
	vm.Spec.Instancetype.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: revision.Name}
	plan, err := planRefresh(vm, it, nil, w)
	if err != nil || plan.VM == nil {
		t.Fatalf("refresh %+v, %v; want the VM without the revision in spec", plan, err)
	}
	if r := plan.Result; r.Changed || !r.SpecPinCleared || r.NewRevision != revision.Name {
		t.Errorf("result %+v, want only the revision in spec cleared", r)
	}
	want := vm.DeepCopy()
	want.Spec.Instancetype.ControllerRevisionRef = nil
	if diff := cmp.Diff(want, plan.VM); diff != "" {
		t.Errorf("more than the revision in spec changed (-want +got):\n%s", diff)
	}
}

func TestRefresh_RepairsLostRevisions(t *testing.T) {
	for name, lost := range map[string][]instancetype.Role{"one": {it}, "both": {it, pref}} {
		t.Run(name, func(t *testing.T) {
			w, vm := newFakeReader(), vmOf(t, "{instancetype: {name: small}, preference: {name: linux}}")
			revisions := map[instancetype.Role]string{
				it:   w.pin(t, vm, w.add(t, clusterIT, "small", "it-uid", 1, size(2))).Name,
				pref: w.pin(t, vm, w.add(t, clusterPref, "linux", "p-uid", 1, "{}")).Name,
			}
			for _, role := range lost {
				delete(w.revisions, vm.Namespace+"/"+revisions[role])
			}
			for _, role := range lost {
				plan, err := planRefresh(vm, role, nil, w)
				if err != nil {
					t.Fatalf("%s: %v", role, err)
				}
				if !plan.Result.Changed || plan.VM == nil || instancetype.StatusRef(plan.VM, role).ControllerRevisionRef != nil {
					t.Errorf("%s: result %+v; want the lost revision removed", role, plan.Result)
				}
			}
		})
	}
}

func TestRefresh_Refusals(t *testing.T) {
	t.Run("F153 no such reference", func(t *testing.T) {
		var want *instancetype.NoMatcherError
		if _, err := planRefresh(vmOf(t, "{}"), pref, nil, newFakeReader()); !errors.As(err, &want) {
			t.Errorf("error %v, want %T", err, want)
		}
	})
	t.Run("F154 source deleted, the old revision stays in use", func(t *testing.T) {
		w, vm := outdated(t, size(4), "{}")
		w.remove(w.sources[string(clusterIT)+"//small"])
		var want *instancetype.SourceDeletedError
		if _, err := planRefresh(vm, it, nil, w); !errors.As(err, &want) {
			t.Errorf("error %v, want %T", err, want)
		}
		if want == nil || !want.Captured {
			t.Errorf("error %+v, want Captured set", want)
		}
		if found, err := find(vm, it, w); err != nil || found.Object.Meta.Generation != 1 {
			t.Errorf("found %+v, %v; want generation 1", found, err)
		}
	})
	t.Run("a source that never existed", func(t *testing.T) {
		var want *instancetype.SourceDeletedError
		_, err := planRefresh(vmOf(t, "{instancetype: {name: never}}"), it, nil, newFakeReader())
		if !errors.As(err, &want) || want.Captured || strings.Contains(err.Error(), "revision") {
			t.Errorf("error %v, want no mention of a revision", err)
		}
	})
	t.Run("a failed read is returned as an error", func(t *testing.T) {
		w, vm := outdated(t, size(4), "{}")
		w.broken = errors.New("timeout")
		var gone *instancetype.SourceDeletedError
		if _, err := planRefresh(vm, it, nil, w); !errors.Is(err, w.broken) || errors.As(err, &gone) {
			t.Errorf("error %v, want the failure itself", err)
		}
	})
	t.Run("a spec that would become invalid", func(t *testing.T) {
		w, vm := outdated(t, size(4), "{}")
		vm.Spec.Instancetype.InferFromVolume = "image"
		var want *instancetype.RefreshRefusedError
		if _, err := planRefresh(vm, it, nil, w); !errors.As(err, &want) {
			t.Errorf("error %v, want %T", err, want)
		}
	})
}

func TestRefresh_ChangesNothingIfTheResultIsInvalid(t *testing.T) {
	for _, tc := range []struct {
		name, size, pref string
		role             instancetype.Role
		vm               func(*vmv1alpha1.VirtualMachine)
		kind             apply.ProblemKind
	}{
		{"F111 requirements of a new preference", size(4), `{requirements: {cpu: {guest: 64}}}`, pref, nil, apply.RequirementProblem},
		{"F111 spread of a new preference", size(4), `{cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: 3}}}`, pref, nil, apply.InvalidProblem},
		{"F111 conflicts with a new instance type", `{cpu: {guest: 2, maxSockets: 4}, memory: {guest: 2Gi}}`, `{}`, it,
			func(vm *vmv1alpha1.VirtualMachine) {
				maxSockets := int32(8)
				vm.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{MaxSockets: &maxSockets}
			}, apply.ConflictProblem},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := outdated(t, tc.size, tc.pref)
			if tc.vm != nil {
				tc.vm(vm)
			}
			before := vm.DeepCopy()
			_, err := planRefresh(vm, tc.role, nil, w)
			var problems *apply.Error
			if !errors.As(err, &problems) || !problems.Has(tc.kind) {
				t.Errorf("error %v, want an *apply.Error with a %s", err, tc.kind)
			}
			if diff := cmp.Diff(before, vm, quantities); diff != "" {
				t.Errorf("F111 a refused refresh changed (-want +got):\n%s", diff)
			}
			if found, err := find(vm, tc.role, w); err != nil || found.Object.Meta.Generation != 1 {
				t.Errorf("F111 found %+v, %v; want the old revision", found, err)
			}
		})
	}
	t.Run("F111 requirements of the captured preference against a smaller instance type", func(t *testing.T) {
		w := newFakeReader()
		vm := vmOf(t, "{instancetype: {name: small}, preference: {name: linux}}")
		w.pin(t, vm, w.add(t, clusterIT, "small", "it-uid", 1, size(2)))
		w.pin(t, vm, w.add(t, clusterPref, "linux", "p-uid", 1, "{requirements: {cpu: {guest: 2}}}"))
		w.add(t, clusterIT, "small", "it-uid", 2, size(1))
		var problems *apply.Error
		if _, err := planRefresh(vm, it, nil, w); !errors.As(err, &problems) || !problems.Has(apply.RequirementProblem) {
			t.Errorf("error %v, want a requirement", err)
		}
	})
}

func TestRefresh_RepairsALostRevision(t *testing.T) {
	w, vm := outdated(t, size(4), "{}")
	delete(w.revisions, "default/"+vm.Status.InstancetypeRef.ControllerRevisionRef.Name)
	plan, err := planRefresh(vm, it, nil, w)
	if err != nil || !plan.Result.Changed || plan.Result.Fields != nil {
		t.Errorf("refresh %+v, %v; want a change without comparison", plan, err)
	}
}
