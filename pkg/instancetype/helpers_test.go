// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"context"
	"fmt"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

const (
	it   = instancetype.RoleInstancetype
	pref = instancetype.RolePreference
)

// quantities compares quantities by value.
var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

// fakeReader is a Reader with objects in memory.
type fakeReader struct {
	sources   map[string]*instancetype.Object
	revisions map[string]*itv1alpha1.ControllerRevision
	classes   map[string]*vmv1alpha1.VirtualMachineClass
	images    map[string]*vmv1alpha1.VirtualMachineImage
	claims    map[string]*corev1.PersistentVolumeClaim
	// broken, if set, is the error of every read of a source.
	broken error
}

func newFakeReader() *fakeReader {
	return &fakeReader{
		sources:   map[string]*instancetype.Object{},
		revisions: map[string]*itv1alpha1.ControllerRevision{},
		classes:   map[string]*vmv1alpha1.VirtualMachineClass{},
		images:    map[string]*vmv1alpha1.VirtualMachineImage{},
		claims:    map[string]*corev1.PersistentVolumeClaim{},
	}
}

func get[T any](m map[string]*T, what, key string) (*T, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: what}, path.Base(key))
}

func (w *fakeReader) Source(_ context.Context, kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	if !kind.Namespaced() {
		namespace = ""
	}
	return get(w.sources, kind.Resource(), string(kind)+"/"+namespace+"/"+name)
}

func (w *fakeReader) Revision(_ context.Context, namespace, name string) (*instancetype.DecodedRevision, error) {
	revision, err := get(w.revisions, "controllerrevisions", namespace+"/"+name)
	if err != nil {
		return nil, err
	}
	return instancetype.Decode(revision), nil
}

func (w *fakeReader) Class(_ context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return get(w.classes, "virtualmachineclasses", namespace+"/"+name)
}

func (w *fakeReader) Image(_ context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	if ref.Kind == vmv1alpha1.ClusterImageKind {
		namespace = ""
	}
	return get(w.images, "virtualmachineimages", namespace+"/"+ref.Name)
}

func (w *fakeReader) PersistentVolumeClaim(_ context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return get(w.claims, "persistentvolumeclaims", namespace+"/"+name)
}

// add adds a source. Namespaced sources are in namespace default.
func (w *fakeReader) add(t testing.TB, kind instancetype.Kind, name, uid string, generation int64, spec string) *instancetype.Object {
	t.Helper()
	namespace := ""
	if kind.Namespaced() {
		namespace = "default"
	}
	return w.addIn(t, namespace, kind, name, uid, generation, spec)
}

func (w *fakeReader) addIn(t testing.TB, namespace string, kind instancetype.Kind, name, uid string, generation int64, spec string) *instancetype.Object {
	t.Helper()
	o := &instancetype.Object{Kind: kind}
	o.Meta.Name, o.Meta.Namespace, o.Meta.UID, o.Meta.Generation = name, namespace, types.UID(uid), generation
	if kind.Role() == pref {
		o.Preference = parse[itv1alpha1.VirtualMachinePreferenceSpec](t, spec)
	} else {
		o.Instancetype = parse[itv1alpha1.VirtualMachineInstancetypeSpec](t, spec)
	}
	w.sources[string(kind)+"/"+namespace+"/"+name] = o
	return o
}

func (w *fakeReader) remove(o *instancetype.Object) {
	delete(w.sources, string(o.Kind)+"/"+o.Meta.Namespace+"/"+o.Meta.Name)
}

// pin stores a revision of o, and refers to it in vm's status.
func (w *fakeReader) pin(t testing.TB, vm *vmv1alpha1.VirtualMachine, o *instancetype.Object) *itv1alpha1.ControllerRevision {
	t.Helper()
	revision := w.store(t, vm, o)
	instancetype.SetStatusRef(vm, o.Kind.Role(), &vmv1alpha1.InstancetypeRef{
		Name: o.Meta.Name, Kind: string(o.Kind), SourceUID: string(o.Meta.UID), SourceGeneration: o.Meta.Generation,
		ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: revision.Name},
	})
	return revision
}

// store stores a revision of o for vm.
func (w *fakeReader) store(t testing.TB, vm *vmv1alpha1.VirtualMachine, o *instancetype.Object) *itv1alpha1.ControllerRevision {
	t.Helper()
	revision, err := instancetype.NewRevision(vm.Namespace, o)
	if err != nil {
		t.Fatal(err)
	}
	w.revisions[vm.Namespace+"/"+revision.Name] = revision
	return revision
}

func parse[T any](t testing.TB, manifest string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), out); err != nil {
		t.Fatalf("parsing %q: %v", manifest, err)
	}
	return out
}

func vmOf(t testing.TB, spec string) *vmv1alpha1.VirtualMachine {
	t.Helper()
	vm := &vmv1alpha1.VirtualMachine{Spec: *parse[vmv1alpha1.VirtualMachineSpec](t, spec)}
	vm.Name, vm.Namespace, vm.UID = "vm", "default", "vm-uid"
	return vm
}

// size returns the spec of an instance type with n vCPUs and n GiB of memory.
func size(n int) string { return fmt.Sprintf("{cpu: {guest: %d}, memory: {guest: %dGi}}", n, n) }

// matched returns the spec of a VM with one reference of role.
func matched(role instancetype.Role, m string) string {
	if role == pref {
		return "{cpu: {sockets: 1}, memory: {guest: 1Gi}, preference: {" + m + "}}"
	}
	return "{instancetype: {" + m + "}}"
}

// kinds returns the namespaced kind and the cluster kind of role, and a spec.
func kinds(role instancetype.Role) (namespaced, cluster instancetype.Kind, spec string) {
	if role == pref {
		return instancetype.KindPreference, instancetype.KindClusterPreference, "{preferredSubdomain: a}"
	}
	return instancetype.KindInstancetype, instancetype.KindClusterInstancetype, size(2)
}

// The functions below read from a fakeReader and return the result.

func find(vm *vmv1alpha1.VirtualMachine, role instancetype.Role, w *fakeReader) (*instancetype.ResolvedObject, error) {
	return instancetype.Gather(context.Background(), vm, w).Find(role)
}

func resolve(vm *vmv1alpha1.VirtualMachine, w *fakeReader) (*instancetype.Resolved, error) {
	return instancetype.Gather(context.Background(), vm, w).Resolve()
}

func resolveLatest(vm *vmv1alpha1.VirtualMachine, w *fakeReader) (*instancetype.Resolved, error) {
	return instancetype.GatherLatest(context.Background(), vm, w).ResolveLatest()
}

func effectiveSpec(vm *vmv1alpha1.VirtualMachine, w *fakeReader) (*vmv1alpha1.VirtualMachineInstanceSpec, error) {
	return instancetype.Effective(vm, instancetype.Gather(context.Background(), vm, w))
}

func planRefresh(
	vm *vmv1alpha1.VirtualMachine, role instancetype.Role, running *vmv1alpha1.VirtualMachineInstanceSpec, w *fakeReader,
) (*instancetype.Refresh, error) {
	return instancetype.PlanRefresh(vm, role, running, instancetype.GatherLatest(context.Background(), vm, w))
}

func capture(vm *vmv1alpha1.VirtualMachine, role instancetype.Role, w *fakeReader) (*vmv1alpha1.InstancetypeRef, *itv1alpha1.ControllerRevision, error) {
	c, err := instancetype.GatherLive(context.Background(), vm, w).Capture(vm, role)
	if c == nil || err != nil {
		return nil, nil, err
	}
	return c.Ref, c.Create, nil
}

const hotAdd = `cpu: {sockets: 2, cores: 1, threads: 1, hotAddEnabled: true}, memory: {guest: 4Gi, reservation: 4Gi, hotAddEnabled: true}`

func instanceSpec(t testing.TB, fields string) *vmv1alpha1.VirtualMachineInstanceSpec {
	t.Helper()
	return parse[vmv1alpha1.VirtualMachineInstanceSpec](t, "{"+fields+"}")
}
