// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// fixture is a namespace with one revision in the API and in the cache. The tests fill the caches of its users.
type fixture struct {
	*reconciler
	t        *testing.T
	api      *fake.Clientset
	revision *itv1alpha1.ControllerRevision
	// cached has the VMs of the informer.
	cached cache.Indexer
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	size := &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small", UID: "s", Generation: 1}}
	revision, err := instancetype.NewRevision("ns", instancetype.FromInstancetype(size))
	if err != nil {
		t.Fatal(err)
	}
	revision.UID, revision.ResourceVersion = "uid", "1"
	f := &fixture{t: t, revision: revision, api: fake.NewSimpleClientset(append(objects, revision)...),
		cached: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByRevision: byRevision})}
	// The fake client sets no resource versions, so updates set them here.
	f.api.PrependReactor("update", "controllerrevisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
		action.(clienttesting.UpdateAction).GetObject().(*itv1alpha1.ControllerRevision).ResourceVersion = "2"
		return false, nil, nil
	})
	revisions := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := revisions.Add(revision); err != nil {
		t.Fatal(err)
	}
	f.reconciler = &reconciler{client: f.api, revisions: itlisters.NewControllerRevisionLister(revisions), users: []cache.Indexer{f.cached}}
	return f
}

// user returns a VM whose status refers to the revision of the fixture.
func user() *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", UID: "vm"}}
	vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "small", Kind: string(instancetype.KindInstancetype),
		ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "small-v1alpha1-s-1"}}
	return vm
}

func (f *fixture) reconcile() (controller.Result, error) {
	return f.Reconcile(f.t.Context(), types.NamespacedName{Namespace: "ns", Name: f.revision.Name})
}

// stored returns the revision in the API, or nil if it is deleted.
func (f *fixture) stored() *itv1alpha1.ControllerRevision {
	f.t.Helper()
	revision, err := f.api.InstancetypeV1alpha1().ControllerRevisions("ns").Get(f.t.Context(), f.revision.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return revision
}

func TestRevision_IsMarkedThenDeletedIfUnused(t *testing.T) {
	f := newFixture(t)
	if _, err := f.reconcile(); err != nil || f.stored() != nil {
		t.Fatalf("error %v, left %v; want it deleted", err, f.stored())
	}
	var verbs []string
	for _, action := range f.api.Actions() {
		verbs = append(verbs, action.GetVerb())
		if del, ok := action.(clienttesting.DeleteActionImpl); ok {
			p := del.DeleteOptions.Preconditions
			if p == nil || *p.UID != "uid" || *p.ResourceVersion != "2" {
				t.Errorf("deleted with preconditions %+v, want UID and version of the marked object", p)
			}
		}
	}
	if got := strings.Join(verbs[:7], " "); got != "update list list list list list delete" {
		t.Errorf("calls %q, want the mark before everything is read", got)
	}
}

func TestRevision_CausesNoCallIfTheCacheHasAUser(t *testing.T) {
	f := newFixture(t, user())
	if err := f.cached.Add(user()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.reconcile(); err != nil || len(f.api.Actions()) != 0 {
		t.Errorf("error %v after %v, want none", err, f.api.Actions())
	}
}

func TestRevision_IsKeptForAUserThatOnlyTheAPIHas(t *testing.T) {
	f := newFixture(t, user())
	result, err := f.reconcile()
	if err != nil || f.stored() == nil || result.RequeueAfter != controller.DefaultResyncPeriod {
		t.Errorf("result %+v, error %v, left %v; want it kept and a requeue", result, err, f.stored())
	}
}

// A VM created from the template later would need the revision, which cannot be created again.
func TestRevision_IsKeptForATemplate(t *testing.T) {
	template := &vmv1alpha1.VirtualMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "workers"}}
	template.Spec.Template.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{
		Name: "small", Kind: "VirtualMachineInstancetype", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "small-v1alpha1-s-1"},
	}
	f := newFixture(t, template)
	result, err := f.reconcile()
	if err != nil || f.stored() == nil || result.RequeueAfter != controller.DefaultResyncPeriod {
		t.Errorf("result %+v, error %v, left %v; want it kept and a requeue", result, err, f.stored())
	}
}

func TestRevision_IsKeptWhileUsersCannotBeRead(t *testing.T) {
	for _, resource := range []string{"virtualmachines", "virtualmachineinstances", "virtualmachinetemplates", "controllerrevisions"} {
		t.Run(resource, func(t *testing.T) {
			f := newFixture(t)
			broken := errors.New("corrupt object")
			f.api.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, broken })
			if _, err := f.reconcile(); !errors.Is(err, broken) || f.stored() == nil {
				t.Errorf("error %v, left %v; want the revision kept and the error, so that it is tried again", err, f.stored())
			}
		})
	}
}

// A restored status may refer to a missing revision. The revision that the VM runs with must not be deleted then.
func TestRevision_IsKeptWhileAStatusRefersToAMissingOne(t *testing.T) {
	vm := user()
	vm.Status.InstancetypeRef.ControllerRevisionRef.Name = "gone"
	f := newFixture(t, vm)
	if result, err := f.reconcile(); err != nil || f.stored() == nil || result.RequeueAfter == 0 {
		t.Errorf("result %+v, error %v, left %v; want it kept and a requeue", result, err, f.stored())
	}
}

func TestRevision_IsNotDeletedIfItIsUsedAgain(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "controllerrevisions"}, "small", errors.New("changed"))
	for _, verb := range []string{"update", "delete"} {
		t.Run(verb, func(t *testing.T) {
			f := newFixture(t)
			f.api.PrependReactor(verb, "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, conflict })
			if result, err := f.reconcile(); err != nil || f.stored() == nil || result.RequeueAfter != controller.DefaultResyncPeriod {
				t.Errorf("result %+v, error %v, left %v; want it kept and a requeue", result, err, f.stored())
			}
		})
	}
}
