// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// capture pins source as the controller does: it creates a revision, which may already exist, and a status that refers
// to it.
func capture(t *testing.T, c versioned.Interface, vm *vmv1alpha1.VirtualMachine, source *itv1alpha1.VirtualMachineClusterInstancetype) *vmv1alpha1.VirtualMachine {
	t.Helper()
	revision, err := instancetype.NewRevision(vm.Namespace, instancetype.FromClusterInstancetype(source))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.InstancetypeV1alpha1().ControllerRevisions(namespace).Create(t.Context(), revision, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	vm = vm.DeepCopy()
	vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{
		Name: source.Name, Kind: string(instancetype.KindClusterInstancetype),
		ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: revision.Name},
		SourceUID:             string(source.UID), SourceGeneration: source.Generation,
	}
	if vm, err = c.VmV1alpha1().VirtualMachines(namespace).UpdateStatus(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return vm
}

// startWithHost starts a server with an empty management cluster.
func startWithHost(t *testing.T) versioned.Interface {
	t.Helper()
	return framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.Host = fake.NewClientset() }).Client(t)
}

func grow(t *testing.T, c versioned.Interface, source *itv1alpha1.VirtualMachineClusterInstancetype) {
	t.Helper()
	source = source.DeepCopy()
	source.Spec.CPU.Guest *= 2
	if _, err := c.InstancetypeV1alpha1().VirtualMachineClusterInstancetypes().Update(t.Context(), source, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// F150 F155 F157 F159: nothing else changes, including the power state.
func TestRefresh_ReleasesTheRevisionInSpecAndStatusTogether(t *testing.T) {
	c := startWithHost(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	source := createClusterInstancetype(t, c, "small", 2, "2Gi")
	vm := capture(t, c, createVM(t, c, typedVM("pinned", "small")), source)
	oldRevision := vm.Status.InstancetypeRef.ControllerRevisionRef.Name
	vm.Spec.Instancetype.ControllerRevisionRef = &vmv1alpha1.ControllerRevisionRef{Name: oldRevision}
	before, err := vms.Update(t.Context(), vm, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	grow(t, c, source)

	for _, dryRun := range []struct {
		name string
		body vmv1alpha1.RefreshOptions
		opts metav1.CreateOptions
	}{
		{name: "in the body", body: vmv1alpha1.RefreshOptions{DryRun: []string{metav1.DryRunAll}}},
		{name: "in the query", opts: metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}},
	} {
		result, err := vms.RefreshInstancetype(t.Context(), vm.Name, &dryRun.body, dryRun.opts)
		if err != nil {
			t.Fatalf("dry run %s: %v", dryRun.name, err)
		}
		if !result.DryRun || !result.Changed {
			t.Errorf("dry run %s: dryRun %v, changed %v; want both true", dryRun.name, result.DryRun, result.Changed)
		}
		if diff := cmp.Diff(before, getVM(t, c, vm.Name)); diff != "" {
			t.Fatalf("the dry run %s changed the VM (-before +after):\n%s", dryRun.name, diff)
		}
	}

	result, err := vms.RefreshInstancetype(t.Context(), vm.Name, &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Changed || !result.SpecPinCleared || result.DryRun || result.OldRevision != oldRevision || result.OldGeneration != 1 || result.NewGeneration != 2 || result.NewRevision == "" {
		t.Errorf("result = %+v", result)
	}
	if !slices.ContainsFunc(result.Fields, func(f vmv1alpha1.RefreshField) bool {
		return f.Path == "cpu.sockets" && f.Old == "2" && f.New == "4"
	}) {
		t.Errorf("fields = %+v, want cpu.sockets from 2 to 4", result.Fields)
	}
	after := getVM(t, c, vm.Name)
	if after.Spec.Instancetype.ControllerRevisionRef != nil || after.Status.InstancetypeRef.ControllerRevisionRef != nil {
		t.Errorf("the revision is still named: spec %+v, status %+v", after.Spec.Instancetype, after.Status.InstancetypeRef)
	}
	if after.Generation != before.Generation+1 {
		t.Errorf("generation = %d, want %d because spec changed", after.Generation, before.Generation+1)
	}
	after.Spec.Instancetype.ControllerRevisionRef = before.Spec.Instancetype.ControllerRevisionRef
	after.Status.InstancetypeRef.ControllerRevisionRef = before.Status.InstancetypeRef.ControllerRevisionRef
	if diff := cmp.Diff(before.Spec, after.Spec) + cmp.Diff(before.Status, after.Status); diff != "" {
		t.Errorf("the refresh changed more than the references (-before +after):\n%s", diff)
	}
}

// F151
func TestRefresh_OfTheNewestRevisionWritesNothing(t *testing.T) {
	c := startWithHost(t)
	source := createClusterInstancetype(t, c, "small", 2, "2Gi")
	before := capture(t, c, createVM(t, c, typedVM("newest", "small")), source)
	result, err := c.VmV1alpha1().VirtualMachines(namespace).RefreshInstancetype(t.Context(), "newest", &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Changed {
		t.Error("changed = true, want false")
	}
	if diff := cmp.Diff(before, getVM(t, c, "newest")); diff != "" {
		t.Errorf("the VM was written (-before +after):\n%s", diff)
	}
}

func TestRefresh_RejectionReportsTheFieldAndChangesNothing(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	source := createClusterInstancetype(t, c, "small", 2, "2Gi")
	prefs := c.InstancetypeV1alpha1().VirtualMachineClusterPreferences()
	preference, err := prefs.Create(t.Context(), &itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: metav1.ObjectMeta{Name: "modest"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	poor := typedVM("poor", "small")
	poor.Spec.Preference = &vmv1alpha1.PreferenceMatcher{Name: "modest"}
	for _, vm := range []*vmv1alpha1.VirtualMachine{poor, inlineVM("inline"), typedVM("gone", "gone")} {
		createVM(t, c, vm)
	}
	preference.Spec.Requirements = &itv1alpha1.PreferenceRequirements{
		Memory: &itv1alpha1.MemoryPreferenceRequirement{Guest: resource.MustParse("64Gi")},
	}
	if _, err := prefs.Update(t.Context(), preference, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	grow(t, c, source)

	for name, tc := range map[string]struct{ vm, field string }{
		"F153 no instance type":         {"inline", "spec.instancetype"},
		"F154 source does not exist":    {"gone", "spec.instancetype"},
		"F111 requirements are not met": {"poor", "spec.instancetype"},
	} {
		t.Run(name, func(t *testing.T) {
			before := getVM(t, c, tc.vm)
			_, err := vms.RefreshInstancetype(t.Context(), tc.vm, &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{})
			if !apierrors.IsInvalid(err) || !anyBelow(causes(err), tc.field) {
				t.Errorf("answer %v (fields %q), want Invalid that names %s", err, causes(err), tc.field)
			}
			if diff := cmp.Diff(before, getVM(t, c, tc.vm)); diff != "" {
				t.Errorf("the refused refresh changed the VM (-before +after):\n%s", diff)
			}
		})
	}
	_, err = vms.RefreshPreference(t.Context(), "missing", &vmv1alpha1.RefreshOptions{}, metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("refreshing a VM that does not exist: %v, want NotFound", err)
	}
}

func TestExpand_ReturnsTheSizeAndStoresNothing(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	createClusterInstancetype(t, c, "small", 2, "2Gi")
	before := createVM(t, c, typedVM("short", "small"))

	got, err := vms.ExpandSpec(t.Context(), "short", vmv1alpha1.ExpandOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.Instancetype != nil || got.Spec.CPU == nil || got.Spec.CPU.Sockets != 2 || got.Spec.Memory == nil || got.Spec.Memory.Guest.String() != "2Gi" {
		t.Errorf("expanded spec: instancetype %v, cpu %+v, memory %+v", got.Spec.Instancetype, got.Spec.CPU, got.Spec.Memory)
	}
	if diff := cmp.Diff(before, getVM(t, c, "short")); diff != "" {
		t.Errorf("expand-spec stored something (-before +after):\n%s", diff)
	}
	if _, err := vms.ExpandSpec(t.Context(), "missing", vmv1alpha1.ExpandOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("F133 a VM that does not exist: %v, want NotFound", err)
	}
	createVM(t, c, typedVM("early", "not-there-yet"))
	if _, err := vms.ExpandSpec(t.Context(), "early", vmv1alpha1.ExpandOptions{}); !apierrors.IsInvalid(err) || !anyBelow(causes(err), "spec.instancetype") {
		t.Errorf("F133 a source that does not exist: %v, want Invalid that names spec.instancetype", err)
	}
	inline := createVM(t, c, inlineVM("inline"))
	if got, err := vms.ExpandSpec(t.Context(), "inline", vmv1alpha1.ExpandOptions{}); err != nil || !cmp.Equal(inline.Spec, got.Spec) {
		t.Errorf("F133 without references: %+v, %v; want the spec unchanged", got, err)
	}
	if _, err := vms.ExpandSpec(t.Context(), "short", vmv1alpha1.ExpandOptions{Generation: "oldest"}); !apierrors.IsInvalid(err) {
		t.Errorf("generation=oldest: %v, want Invalid", err)
	}
}
