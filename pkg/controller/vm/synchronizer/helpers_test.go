// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer_test

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

const (
	it   = instancetype.RoleInstancetype
	pref = instancetype.RolePreference
)

var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

// fixture is a Reader and a RevisionStore of in-memory objects.
type fixture struct {
	sources   map[string]*instancetype.Object
	revisions map[string]*itv1alpha1.ControllerRevision
	classes   map[string]*vmv1alpha1.VirtualMachineClass
	images    map[string]*vmv1alpha1.VirtualMachineImage
	created   []string
	broken    error
}

func newFixture() *fixture {
	return &fixture{
		sources:   map[string]*instancetype.Object{},
		revisions: map[string]*itv1alpha1.ControllerRevision{},
		classes:   map[string]*vmv1alpha1.VirtualMachineClass{},
		images:    map[string]*vmv1alpha1.VirtualMachineImage{},
	}
}

func lookUp[T any](m map[string]*T, what, key string) (*T, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: what}, path.Base(key))
}

func (f *fixture) Source(_ context.Context, kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	if !kind.Namespaced() {
		namespace = ""
	}
	return lookUp(f.sources, kind.Resource(), string(kind)+"/"+namespace+"/"+name)
}

func (f *fixture) Revision(ctx context.Context, namespace, name string) (*instancetype.DecodedRevision, error) {
	revision, err := f.Get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return instancetype.Decode(revision), nil
}

func (f *fixture) Class(_ context.Context, _, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return lookUp(f.classes, "virtualmachineclasses", name)
}

func (f *fixture) Image(_ context.Context, _ string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	return lookUp(f.images, "virtualmachineimages", ref.Name)
}

func (f *fixture) PersistentVolumeClaim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, name)
}

func (f *fixture) Get(_ context.Context, _, name string) (*itv1alpha1.ControllerRevision, error) {
	return lookUp(f.revisions, "controllerrevisions", name)
}

func (f *fixture) Create(_ context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	if _, ok := f.revisions[revision.Name]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "controllerrevisions"}, revision.Name)
	}
	f.revisions[revision.Name] = revision
	f.created = append(f.created, revision.Name)
	return revision, nil
}

func (f *fixture) Update(_ context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	f.revisions[revision.Name] = revision
	return revision, nil
}

func (f *fixture) add(t testing.TB, kind instancetype.Kind, name, uid string, generation int64, spec string) *instancetype.Object {
	t.Helper()
	o := &instancetype.Object{Kind: kind}
	o.Meta.Name, o.Meta.UID, o.Meta.Generation = name, types.UID(uid), generation
	if kind.Namespaced() {
		o.Meta.Namespace = "default"
	}
	if kind.Role() == pref {
		o.Preference = parse[itv1alpha1.VirtualMachinePreferenceSpec](t, spec)
	} else {
		o.Instancetype = parse[itv1alpha1.VirtualMachineInstancetypeSpec](t, spec)
	}
	f.sources[string(kind)+"/"+o.Meta.Namespace+"/"+name] = o
	return o
}

func parse[T any](t testing.TB, manifest string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), out); err != nil {
		t.Fatalf("parsing %q: %v", manifest, err)
	}
	return out
}

// vmOf returns a complete VM, so that only the references are synchronized.
func vmOf(t testing.TB, spec string) *vmv1alpha1.VirtualMachine {
	t.Helper()
	vm := &vmv1alpha1.VirtualMachine{Spec: *parse[vmv1alpha1.VirtualMachineSpec](t, spec)}
	vm.Name, vm.Namespace, vm.UID, vm.Generation = "vm", "default", "vm-uid", 3
	if vm.Spec.Network == nil {
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Disabled: true}
	}
	if vm.Spec.Firmware == nil {
		vm.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{UUID: "11111111-2222-3333-4444-555555555555"}
	}
	return vm
}

var start = metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

func chain(f *fixture, policy synchronizer.Policy) synchronizer.Chain {
	return synchronizer.New(synchronizer.Options{
		Reader: f, Revisions: f, Policy: policy,
	})
}

// sync runs the chain on a copy. It checks that the spec is unchanged, unless references are expanded.
// Behaviors F60 of test/behaviours.
func sync(t testing.TB, f *fixture, vm *vmv1alpha1.VirtualMachine) (*vmv1alpha1.VirtualMachine, error) {
	t.Helper()
	result, err := chain(f, synchronizer.PolicyReference).Sync(t.Context(), vm.DeepCopy(), nil)
	if diff := cmp.Diff(vm.Spec, result.VM.Spec, quantities); diff != "" {
		t.Errorf("spec was changed (-want +got):\n%s", diff)
	}
	if result.Effective == nil && err == nil {
		t.Error("there is neither an effective spec nor an error")
	}
	return merged(result), err
}

// merged returns the virtual machine with the conditions that the synchronizers reported.
func merged(result synchronizer.Result) *vmv1alpha1.VirtualMachine {
	result.VM.Status.Conditions = (&step.Report{Conditions: result.Conditions}).Merge(result.VM, start.Time)
	return result.VM
}

func mustSync(t testing.TB, f *fixture, vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	t.Helper()
	out, err := sync(t, f, vm)
	if err != nil {
		t.Fatalf("Sync: %v", err)
	}
	return out
}

// reasons returns status and reason of every condition.
func reasons(vm *vmv1alpha1.VirtualMachine) map[string]string {
	out := map[string]string{}
	for _, c := range vm.Status.Conditions {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

func condition(t testing.TB, vm *vmv1alpha1.VirtualMachine, conditionType string) metav1.Condition {
	t.Helper()
	c := meta.FindStatusCondition(vm.Status.Conditions, conditionType)
	if c == nil {
		t.Fatalf("no condition %s in %v", conditionType, vm.Status.Conditions)
	}
	return *c
}

const (
	small = "{cpu: {guest: 2}, memory: {guest: 4Gi}}"
	big   = "{cpu: {guest: 8}, memory: {guest: 16Gi}}"
)

const (
	clusterIT   = instancetype.KindClusterInstancetype
	clusterPref = instancetype.KindClusterPreference
)
