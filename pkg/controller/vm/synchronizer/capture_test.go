// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Behaviors F26, F27, F36, F37, F42, F51 of test/behaviours.
func TestInstancetype_FirstSyncPinsBothReferences(t *testing.T) {
	for _, tc := range []struct {
		name             string
		itKind, prefKind instancetype.Kind
		itSpelt          string
		prefSpelt        string
	}{
		{"namespaced", instancetype.KindInstancetype, instancetype.KindPreference, "VirtualMachineInstancetype", "VIRTUALMACHINEPREFERENCE"},
		{"cluster", clusterIT, clusterPref, "virtualMachineClusterInstancetypes", "VirtualMachineClusterPreference"},
		{"kind omitted", clusterIT, clusterPref, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture()
			f.add(t, tc.itKind, "small", "it-uid", 4, small)
			f.add(t, tc.prefKind, "linux", "p-uid", 1, "{}")
			vm := vmOf(t, "{instancetype: {name: small, kind: "+tc.itSpelt+"}, preference: {name: linux, kind: "+tc.prefSpelt+"}}")
			out := mustSync(t, f, vm)
			memory := resource.MustParse("4Gi")
			size := &vmv1alpha1.VirtualMachineResources{VCPUs: 2, Memory: &memory}
			wantIT := &vmv1alpha1.InstancetypeRef{
				Name: "small", Kind: string(tc.itKind), SourceUID: "it-uid", SourceGeneration: 4, LatestGeneration: 4,
				ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "small-v1alpha1-it-uid-4"}, Resources: size,
			}
			wantPref := &vmv1alpha1.PreferenceRef{
				Name: "linux", Kind: string(tc.prefKind), SourceUID: "p-uid", SourceGeneration: 1, LatestGeneration: 1,
				ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "linux-v1alpha1-p-uid-1"}, Resources: size,
			}
			if diff := cmp.Diff(wantIT, out.Status.InstancetypeRef, quantities); diff != "" {
				t.Errorf("instance type (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantPref, out.Status.PreferenceRef, quantities); diff != "" {
				t.Errorf("preference (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"small-v1alpha1-it-uid-4", "linux-v1alpha1-p-uid-1"}, f.created); diff != "" {
				t.Errorf("created (-want +got):\n%s", diff)
			}
			want := map[string]string{"InstancetypeReady": "True Succeeded", "PreferenceReady": "True Succeeded", "Synchronized": "True Succeeded"}
			if diff := cmp.Diff(want, reasons(out)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if r := out.Status.Resources; r == nil || r.VCPUs != 2 || r.Memory.String() != "4Gi" {
				t.Errorf("resources %+v, want 2 vCPUs and 4Gi", r)
			}
			// While there is no effective spec, the reference keeps its size.
			blocked := out.DeepCopy()
			blocked.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: 8}
			if kept, _ := sync(t, f, blocked); cmp.Diff(wantIT, kept.Status.InstancetypeRef, quantities) != "" {
				t.Errorf("with a conflict the reference is %+v, want it unchanged", kept.Status.InstancetypeRef)
			}
			// The second reconcile changes nothing.
			if again := mustSync(t, f, out); !cmp.Equal(out, again, quantities) {
				t.Errorf("a second reconcile changed (-want +got):\n%s", cmp.Diff(out, again, quantities))
			}
		})
	}
}

// Behaviors F25, F35 of test/behaviours.
func TestInstancetype_SyncWithoutReferences(t *testing.T) {
	f := newFixture()
	vm := vmOf(t, "{cpu: {sockets: 2}, memory: {guest: 1Gi}}")
	out := mustSync(t, f, vm)
	if out.Status.InstancetypeRef != nil || out.Status.PreferenceRef != nil || f.created != nil || out.Status.Resources.VCPUs != 2 {
		t.Errorf("status %+v, created %v", out.Status, f.created)
	}
}

// Behaviors F28, F44, F45, F46, F47, F57 of test/behaviours.
func TestInstancetype_ReferencesFollowTheMatcher(t *testing.T) {
	type step struct {
		name    string
		do      func(t *testing.T, f *fixture, vm *vmv1alpha1.VirtualMachine)
		want    string // foundRevision of the instance type; "" is no reference
		created int
	}
	matcher := func(m string) func(*testing.T, *fixture, *vmv1alpha1.VirtualMachine) {
		return func(t *testing.T, _ *fixture, vm *vmv1alpha1.VirtualMachine) {
			vm.Spec.Instancetype = parse[vmv1alpha1.InstancetypeMatcher](t, m)
		}
	}
	steps := []step{
		{"pinned", func(*testing.T, *fixture, *vmv1alpha1.VirtualMachine) {}, "small-v1alpha1-s-1", 1},
		{"the source changes: pinned, and marked", func(t *testing.T, f *fixture, _ *vmv1alpha1.VirtualMachine) {
			f.add(t, clusterIT, "small", "s", 2, big)
		}, "small-v1alpha1-s-1", 1},
		{"another spelling of the kind", matcher("{name: small, kind: VIRTUALMACHINECLUSTERINSTANCETYPES}"), "small-v1alpha1-s-1", 1},
		{"the full kind", matcher("{name: small, kind: VirtualMachineClusterInstancetype}"), "small-v1alpha1-s-1", 1},
		{"another scope", matcher("{name: small, kind: VirtualMachineInstancetype}"), "small-v1alpha1-n-1", 2},
		{"the kind removed", matcher("{name: small}"), "small-v1alpha1-s-2", 3},
		{"another name", matcher("{name: big}"), "big-v1alpha1-b-1", 4},
		{"and back: the newest", matcher("{name: small}"), "small-v1alpha1-s-2", 4},
		{"a pin is mirrored, nothing is created", matcher("{name: small, revisionName: small-v1alpha1-s-1}"), "small-v1alpha1-s-1", 4},
		{"the newer kind of pin", matcher("{name: small, controllerRevisionRef: {name: small-v1alpha1-s-2}}"), "small-v1alpha1-s-2", 4},
		{"the pin is removed: the pinned revision stays", matcher("{name: small}"), "small-v1alpha1-s-2", 4},
		{"the matcher is removed", func(t *testing.T, _ *fixture, vm *vmv1alpha1.VirtualMachine) {
			vm.Spec.Instancetype = nil
			vm.Spec.CPU, vm.Spec.Memory = parse[vmv1alpha1.VirtualMachineCPU](t, "{sockets: 1}"), parse[vmv1alpha1.VirtualMachineMemory](t, "{guest: 1Gi}")
		}, "", 4},
	}
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	f.add(t, instancetype.KindInstancetype, "small", "n", 1, small)
	f.add(t, clusterIT, "big", "b", 1, big)
	vm := vmOf(t, "{instancetype: {name: small}}")
	for _, s := range steps {
		vm = vm.DeepCopy()
		s.do(t, f, vm)
		vm = mustSync(t, f, vm)
		got := ""
		if ref := vm.Status.InstancetypeRef; ref != nil {
			got = ref.ControllerRevisionRef.Name
			if want := ref.SourceGeneration != ref.LatestGeneration; ref.Outdated != want {
				t.Errorf("%s: outdated %t with generations %d, %d", s.name, ref.Outdated, ref.SourceGeneration, ref.LatestGeneration)
			}
		}
		if got != s.want || len(f.created) != s.created {
			t.Errorf("%s: revision %q after %d creates, want %q after %d", s.name, got, len(f.created), s.want, s.created)
		}
	}
	if vm.Status.Conditions[0].Type != vmv1alpha1.ConditionSynchronized || len(vm.Status.Conditions) != 1 {
		t.Errorf("conditions %v, want Synchronized only", reasons(vm))
	}
}

// Behaviors F57 of test/behaviours.
func TestInstancetype_EachVMPinsTheCurrentGeneration(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	first := mustSync(t, f, vmOf(t, "{instancetype: {name: small}}"))
	f.add(t, clusterIT, "small", "s", 2, big)
	second := vmOf(t, "{instancetype: {name: small}}")
	second.Name, second.UID = "second", "second-uid"
	second = mustSync(t, f, second)
	if got := second.Status.InstancetypeRef; got.ControllerRevisionRef.Name != "small-v1alpha1-s-2" || got.SourceGeneration != 2 || got.Outdated {
		t.Errorf("the second virtual machine pinned %+v, want generation 2", got)
	}
	if instancetype.CheckSameContent(f.revisions["small-v1alpha1-s-1"], f.revisions["small-v1alpha1-s-2"]) == nil {
		t.Error("both revisions have the same data")
	}
	for _, power := range []vmv1alpha1.PowerState{vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOn} {
		first = first.DeepCopy()
		first.Spec.PowerState, first.Status.PowerState = power, power
		first = mustSync(t, f, first)
		if got := first.Status.InstancetypeRef.ControllerRevisionRef.Name; got != "small-v1alpha1-s-1" || first.Status.Resources.VCPUs != 2 {
			t.Errorf("%s, the first has revision %s and %d vCPUs, want the old revision", power, got, first.Status.Resources.VCPUs)
		}
	}
}

// Behaviors F58, F161 of test/behaviours.
func TestInstancetype_ReportsDrift(t *testing.T) {
	f := newFixture()
	o := f.add(t, clusterIT, "small", "s", 1, small)
	vm := mustSync(t, f, vmOf(t, "{instancetype: {name: small}}"))
	f.add(t, clusterIT, "small", "s", 2, big)
	vm = mustSync(t, f, vm)
	if ref := vm.Status.InstancetypeRef; !ref.Outdated || ref.LatestGeneration != 2 || ref.SourceGeneration != 1 {
		t.Errorf("newer generation: %+v", ref)
	}
	f.add(t, clusterIT, "small", "recreated", 1, big)
	vm = mustSync(t, f, vm)
	if ref := vm.Status.InstancetypeRef; !ref.Outdated || ref.LatestGeneration != 1 {
		t.Errorf("recreated source: %+v", ref)
	}
	delete(f.sources, string(o.Kind)+"//small")
	vm = mustSync(t, f, vm)
	if ref := vm.Status.InstancetypeRef; ref.Outdated || ref.LatestGeneration != 0 || ref.ControllerRevisionRef == nil {
		t.Errorf("the source is deleted and the VM keeps its revision: %+v", ref)
	}
}

// Behaviors F33, F34, F129 of test/behaviours.
func TestInstancetype_CopiesTheInferencePolicy(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Labels = map[string]string{vmv1alpha1.LabelDefaultInstancetype: "small"}
	f.images["boot"] = image
	vm := mustSync(t, f, vmOf(t, "{image: {name: boot}, instancetype: {inferFromVolume: image}}"))
	if ref := vm.Status.InstancetypeRef; ref.Name != "small" || ref.InferFromVolume != "image" || ref.InferFromVolumeFailurePolicy != nil {
		t.Fatalf("reference %+v", ref)
	}
	for _, policy := range []vmv1alpha1.InferFromVolumeFailurePolicy{vmv1alpha1.InferFromVolumeFailureReject, vmv1alpha1.InferFromVolumeFailureIgnore} {
		vm = vm.DeepCopy()
		vm.Spec.Instancetype.InferFromVolumeFailurePolicy = &policy
		vm = mustSync(t, f, vm)
		if got := vm.Status.InstancetypeRef.InferFromVolumeFailurePolicy; got == nil || *got != policy || len(f.created) != 1 {
			t.Errorf("policy %v after %d creates, want %s after 1", got, len(f.created), policy)
		}
	}
}

// Behaviors F30, F31, F40, F41, F52 of test/behaviours.
func TestInstancetype_ReusesOnlyEqualRevisions(t *testing.T) {
	// For each role: the kind, its data, different data, and the spec of a VM.
	type subject struct{ kind, content, other, vm string }
	subjects := map[instancetype.Role]subject{
		it:   {string(clusterIT), small, big, "{instancetype: {name: small}}"},
		pref: {string(clusterPref), "{}", "{preferredSubdomain: a}", "{cpu: {sockets: 1}, memory: {guest: 1Gi}, preference: {name: small}}"},
	}
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, revision *itv1alpha1.ControllerRevision, vm *vmv1alpha1.VirtualMachine, s subject)
		want   string
	}{
		{"an equal revision is reused", func(*testing.T, *itv1alpha1.ControllerRevision, *vmv1alpha1.VirtualMachine, subject) {}, ""},
		{"an unequal revision is refused", func(t *testing.T, revision *itv1alpha1.ControllerRevision, vm *vmv1alpha1.VirtualMachine, s subject) {
			other, err := instancetype.NewRevision(vm.Namespace, newFixture().add(t, instancetype.Kind(s.kind), "small", "s", 1, s.other))
			if err != nil {
				t.Fatal(err)
			}
			revision.Data = other.Data
		}, "found existing ControllerRevision with unexpected data: small-v1alpha1-s-1"},
		{"a revision that is being deleted is refused", func(_ *testing.T, revision *itv1alpha1.ControllerRevision, _ *vmv1alpha1.VirtualMachine, _ subject) {
			revision.DeletionTimestamp = &metav1.Time{}
		}, "is being deleted"},
	} {
		for role, s := range subjects {
			t.Run(string(role)+" "+tc.name, func(t *testing.T) {
				f := newFixture()
				f.add(t, instancetype.Kind(s.kind), "small", "s", 1, s.content)
				vm := vmOf(t, s.vm)
				mustSync(t, f, vm)
				tc.change(t, f.revisions["small-v1alpha1-s-1"], vm, s)
				out, err := sync(t, f, vm)
				ref := instancetype.StatusRef(out, role)
				if tc.want == "" {
					if err != nil || ref == nil || len(f.created) != 1 {
						t.Errorf("reference %+v, %v; want the revision reused", ref, err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), tc.want) || ref != nil {
					t.Errorf("reference %+v, error %v; want none and an error with %q", ref, err, tc.want)
				}
				ready := map[instancetype.Role]string{it: "InstancetypeReady", pref: "PreferenceReady"}[role]
				if got := reasons(out)[ready]; got != "False Error" {
					t.Errorf("%s is %s", ready, got)
				}
			})
		}
	}
}

func TestInstancetype_FailingStoreDoesNotChangeTheStatus(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	f.broken = errors.New("quota")
	out, err := sync(t, f, vmOf(t, "{instancetype: {name: small}}"))
	if !errors.Is(err, f.broken) || out.Status.InstancetypeRef != nil {
		t.Errorf("reference %+v, error %v", out.Status.InstancetypeRef, err)
	}
}

// A missing namespace in the management cluster is not a missing instance type. No event would report its creation, so
// it must be retried.
func TestInstancetype_RetriesAMissingNamespace(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	f.broken = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default")
	out, err := sync(t, f, vmOf(t, "{instancetype: {name: small}}"))
	if err == nil || instancetype.IsMissing(err) || out.Status.InstancetypeRef != nil {
		t.Errorf("reference %+v, error %v; want none, and a retryable error", out.Status.InstancetypeRef, err)
	}
	if got := condition(t, out, "InstancetypeReady"); got.Reason != "Error" || !strings.Contains(got.Message, `namespaces "default" not found`) {
		t.Errorf("condition %+v, want an Error with the namespace", got)
	}
}

// Both revisions were lost and one of them is refreshed. The other is still missing.
func TestInstancetype_ReportsThatPinningWaits(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	f.add(t, clusterPref, "linux", "l", 1, "{}")
	vm := mustSync(t, f, vmOf(t, "{instancetype: {name: small}, preference: {name: linux}}")).DeepCopy()
	clear(f.revisions)
	f.created = nil
	out, _ := sync(t, f, instancetype.ClearPins(vm, it))
	got := condition(t, out, "InstancetypeReady")
	if got.Status != metav1.ConditionTrue || !strings.Contains(got.Message, "pinned as soon as") || f.created != nil {
		t.Errorf("condition %+v after creating %v, want the reason why it waits", got, f.created)
	}
	if got := reasons(out)["PreferenceReady"]; got != "False NotFound" {
		t.Errorf("PreferenceReady is %s, want the lost revision reported", got)
	}
	out = mustSync(t, f, instancetype.ClearPins(out, pref))
	if got := condition(t, out, "InstancetypeReady"); got.Message != "" || len(f.created) != 2 {
		t.Errorf("condition %+v after creating %v, want both pinned", got, f.created)
	}
}

// Behaviors F38 of test/behaviours.
func TestInstancetype_CopiesThePinOfAPreference(t *testing.T) {
	for _, pin := range []string{"revisionName: linux-v1alpha1-l-1", "controllerRevisionRef: {name: linux-v1alpha1-l-1}"} {
		f := newFixture()
		vm := vmOf(t, "{cpu: {sockets: 1}, memory: {guest: 1Gi}, preference: {name: linux, "+pin+"}}")
		revision, err := instancetype.NewRevision(vm.Namespace, f.add(t, clusterPref, "linux", "l", 1, "{}"))
		if err != nil {
			t.Fatal(err)
		}
		f.revisions[revision.Name] = revision
		f.add(t, clusterPref, "linux", "l", 2, "{}")
		out := mustSync(t, f, vm)
		if ref := out.Status.PreferenceRef; ref == nil || ref.ControllerRevisionRef.Name != revision.Name || !ref.Outdated || f.created != nil {
			t.Errorf("%s: reference %+v after creating %v", pin, ref, f.created)
		}
	}
}

// Behaviors F135 of test/behaviours.
func TestInstancetype_UpgradesOldRevisions(t *testing.T) {
	f := newFixture()
	o := f.add(t, clusterIT, "small", "s", 1, small)
	vm := vmOf(t, "{instancetype: {name: small}}")
	old, err := instancetype.NewRevision(vm.Namespace, o)
	if err != nil {
		t.Fatal(err)
	}
	old.Name, old.Labels = "vm-small-s-1", nil
	f.revisions[old.Name] = old
	vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "small", Kind: string(clusterIT), ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: old.Name}}

	for _, name := range []string{"upgraded", "repeated when the status was not written"} {
		out := mustSync(t, f, vm)
		if got := out.Status.InstancetypeRef.ControllerRevisionRef.Name; got != "small-v1alpha1-s-1" || len(f.created) != 1 {
			t.Errorf("%s: revision %s after %d creates", name, got, len(f.created))
		}
	}
	out := mustSync(t, f, vm)
	if again := mustSync(t, f, out); !cmp.Equal(out, again, quantities) {
		t.Errorf("an upgraded revision is changed again:\n%s", cmp.Diff(out, again, quantities))
	}
}

// A revision that another virtual machine pinned, or that a restore created, is used unchanged.
func TestInstancetype_SharesRevisionsOfOtherVMs(t *testing.T) {
	f := newFixture()
	vm := vmOf(t, "{instancetype: {name: small, controllerRevisionRef: {name: rev}}}")
	revision, err := instancetype.NewRevision(vm.Namespace, f.add(t, clusterIT, "small", "s", 1, small))
	if err != nil {
		t.Fatal(err)
	}
	revision.Name = "rev"
	f.revisions["rev"] = revision
	out := mustSync(t, f, vm)
	if ref := out.Status.InstancetypeRef; len(f.created) != 0 || ref == nil || ref.ControllerRevisionRef.Name != "rev" {
		t.Errorf("created %v, reference %+v; want the existing revision", f.created, ref)
	}
}

func TestInstancetype_VMsOfANamespaceShareRevisions(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	for _, name := range []string{"one", "two", "three"} {
		vm := vmOf(t, "{instancetype: {name: small}}")
		vm.Name, vm.UID = name, types.UID(name)
		if got := mustSync(t, f, vm).Status.InstancetypeRef.ControllerRevisionRef.Name; got != "small-v1alpha1-s-1" {
			t.Errorf("%s pinned %s", name, got)
		}
	}
	if diff := cmp.Diff([]string{"small-v1alpha1-s-1"}, f.created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
}

func TestInstancetype_PinningUnmarksARevision(t *testing.T) {
	f := newFixture()
	f.add(t, clusterIT, "small", "s", 1, small)
	mustSync(t, f, vmOf(t, "{instancetype: {name: small}}"))
	const name = "small-v1alpha1-s-1"
	metav1.SetMetaDataAnnotation(&f.revisions[name].ObjectMeta, itv1alpha1.AnnotationCollecting, "true")
	f.broken = errors.New("conflict")
	if out, err := sync(t, f, vmOf(t, "{instancetype: {name: small}}")); !strings.Contains(fmt.Sprint(err), "marked for collection") || out.Status.InstancetypeRef != nil {
		t.Errorf("error %v, reference %+v; want no reference to a revision that may be deleted at any time", err, out.Status.InstancetypeRef)
	}
	f.broken = nil
	mustSync(t, f, vmOf(t, "{instancetype: {name: small}}"))
	if _, marked := f.revisions[name].Annotations[itv1alpha1.AnnotationCollecting]; marked {
		t.Error("the pinned revision is still marked")
	}
}
