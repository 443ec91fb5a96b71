// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

var revisionResource = itv1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")

// small returns an instance type in the namespace of the tests.
func small() *itv1alpha1.VirtualMachineInstancetype {
	size := &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small", UID: "s", Generation: 1}}
	size.Spec.CPU.Guest, size.Spec.Memory.Guest = 2, resource.MustParse("4Gi")
	return size
}

// revision stores the revision of small, with another name if name is not empty.
func (h *harness) revision(name string) *itv1alpha1.ControllerRevision {
	h.t.Helper()
	revision, err := instancetype.NewRevision("ns", instancetype.FromInstancetype(small()))
	if err != nil {
		h.t.Fatal(err)
	}
	if name != "" {
		revision.Name = name
	}
	stored, err := h.revisions.Create(h.t.Context(), revision)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.revisionCache.Add(stored); err != nil {
		h.t.Fatal(err)
	}
	return stored
}

// capturing returns a harness with the real synchronizers. Its virtual machine refers to small.
func capturing(t *testing.T, change ...func(*vmv1alpha1.VirtualMachine)) *harness {
	t.Helper()
	sized := func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU, vm.Spec.Memory = nil, nil
		vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small", Kind: "VirtualMachineInstancetype"}
	}
	h := newHarness(t, fresh(append([]func(*vmv1alpha1.VirtualMachine){sized}, change...)...), photon(), small())
	if err := h.sizes.Add(small()); err != nil {
		t.Fatal(err)
	}
	h.chain = synchronizer.New(synchronizer.Options{Reader: h.reader, Revisions: h.revisions, Policy: synchronizer.PolicyReference})
	return h
}

// hostCalls returns the calls of the management cluster's apps API.
func (h *harness) hostCalls() []string {
	var calls []string
	for _, action := range h.host.Actions() {
		if action.GetResource().Group == appsv1.GroupName {
			calls = append(calls, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	return calls
}

// Behaviors F3 of test/behaviours.
func TestRevisions_PinningDoesNotCallTheManagementCluster(t *testing.T) {
	h := capturing(t)
	h.mustReconcile()
	ref := h.vm().Status.InstancetypeRef
	if ref == nil || ref.ControllerRevisionRef == nil {
		t.Fatalf("reference %+v, want a pinned revision", ref)
	}
	// There may be no further reconcile for a while, and this one creates the instance.
	if got := h.provider.requests[0].Effective.Instancetype.RevisionName; got != ref.ControllerRevisionRef.Name {
		t.Errorf("the instance has revision %q, want %s", got, ref.ControllerRevisionRef.Name)
	}
	if _, err := h.revisions.Get(t.Context(), "ns", ref.ControllerRevisionRef.Name); err != nil {
		t.Errorf("reading the pinned revision: %v", err)
	}
	if calls := h.hostCalls(); calls != nil {
		t.Errorf("calls %v, want none", calls)
	}
}

// Behaviors F8 of test/behaviours: The collector has marked the revision, and has seen no reference to it before the
// status was written.
func TestRevisions_AreCreatedAgainIfCollectedWhilePinned(t *testing.T) {
	for name, during := range map[string]func(*harness, string) error{
		"deleted": func(h *harness, name string) error {
			return h.api.Tracker().Delete(revisionResource, "ns", name)
		},
		"marked": func(h *harness, name string) error {
			// Through the tracker, because a fake client cannot be called during a call of it.
			obj, err := h.api.Tracker().Get(revisionResource, "ns", name)
			if err != nil {
				return err
			}
			revision := obj.DeepCopyObject().(*itv1alpha1.ControllerRevision)
			metav1.SetMetaDataAnnotation(&revision.ObjectMeta, itv1alpha1.AnnotationCollecting, "true")
			return h.api.Tracker().Update(revisionResource, revision, "ns")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := capturing(t)
			captured := h.revision("").Name
			done := false
			h.api.PrependReactor("update", "virtualmachines", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetSubresource() == "status" && !done {
					done = true
					if err := during(h, captured); err != nil {
						t.Errorf("collecting: %v", err)
					}
				}
				return false, nil, nil
			})
			h.mustReconcile()
			if ref := h.vm().Status.InstancetypeRef; !done || ref == nil || ref.ControllerRevisionRef.Name != captured {
				t.Fatalf("the status refers to %+v, want %s", ref, captured)
			}
			kept, err := h.revisions.Get(t.Context(), "ns", captured)
			if err != nil {
				t.Fatalf("reading the revision that the status refers to: %v", err)
			}
			if _, marked := kept.Annotations[itv1alpha1.AnnotationCollecting]; marked {
				t.Error("the revision that the status refers to is still marked for collection")
			}
		})
	}
}

// upgradedHarness returns the harness of the first start after an upgrade. The status refers to a revision in the
// management cluster.
func upgradedHarness(t *testing.T) (*harness, *appsv1.ControllerRevision) {
	t.Helper()
	h := capturing(t, func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "small", Kind: string(instancetype.KindInstancetype),
			ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "vm-small-v1alpha1-s-1"}}
	})
	captured, err := instancetype.NewRevision("ns", instancetype.FromInstancetype(small()))
	if err != nil {
		t.Fatal(err)
	}
	old := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm-small-v1alpha1-s-1", Labels: captured.Labels}, Data: captured.Data}
	old.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(h.vm(), vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"))}
	if err := h.host.Tracker().Add(old); err != nil {
		t.Fatal(err)
	}
	return h, old
}

// Behaviors F3 of test/behaviours.
func TestRevisions_AreAdoptedByNameFromTheManagementCluster(t *testing.T) {
	h, old := upgradedHarness(t)
	h.mustReconcile()
	taken, err := h.revisions.Get(t.Context(), "ns", old.Name)
	if err != nil {
		t.Fatalf("reading the revision in Slipway's API: %v", err)
	}
	if diff := cmp.Diff(old.Data.Raw, taken.Data.Raw); diff != "" || !cmp.Equal(old.Labels, taken.Labels) || taken.OwnerReferences != nil {
		t.Errorf("adopted as %+v, want the data and labels of the original, and no owner", taken)
	}
	if got := h.vm().Status.InstancetypeRef.ControllerRevisionRef.Name; got != old.Name {
		t.Errorf("the status refers to %s, want %s unchanged", got, old.Name)
	}
	if _, err := h.host.AppsV1().ControllerRevisions("ns").Get(t.Context(), old.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("reading the original, which a downgrade needs: %v", err)
	}
	h.host.ClearActions()
	h.mustReconcile()
	if calls := h.hostCalls(); calls != nil {
		t.Errorf("calls %v after the adoption, want none", calls)
	}
}

// Behaviors F8 of test/behaviours.
func TestRevisions_ReadErrorsAreNotTreatedAsNotFound(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		absent bool
	}{
		"unreachable":           {errors.New("connection refused"), false},
		"not found":             {apierrors.NewNotFound(schema.GroupResource{Resource: "controllerrevisions"}, "rev"), true},
		"no permission to read": {apierrors.NewForbidden(schema.GroupResource{Resource: "controllerrevisions"}, "rev", nil), true},
	} {
		h, _ := upgradedHarness(t)
		h.host.PrependReactor("get", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		if _, err := h.reader.Revision(t.Context(), "ns", "vm-small-v1alpha1-s-1"); err == nil || apierrors.IsNotFound(err) != tc.absent {
			t.Errorf("%s: error %v, want NotFound: %t", name, err, tc.absent)
		}
	}
}

func TestRevisions_OnlyInstanceTypesAndPreferencesAreAdopted(t *testing.T) {
	h, _ := upgradedHarness(t)
	other := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-5d4"}, Data: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)}}
	if err := h.host.Tracker().Add(other); err != nil {
		t.Fatal(err)
	}
	captured, err := h.reader.Revision(t.Context(), "ns", other.Name)
	if err != nil || captured.Valid() {
		t.Errorf("%+v, %v; want the problem of the revision", captured, err)
	}
	if _, err := h.revisions.Get(t.Context(), "ns", other.Name); !apierrors.IsNotFound(err) {
		t.Errorf("the revision of another workload in Slipway's API: %v, want none", err)
	}
}
