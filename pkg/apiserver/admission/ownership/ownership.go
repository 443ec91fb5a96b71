// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership is the admission check for metadata that controllers depend on: Slipway's finalizers, and owner
// references to objects of Slipway and of Cluster API.
//
// Guarantees:
//   - Only privileged users, such as the controllers, can remove the finalizer of a kind. Without the finalizer an
//     object would be deleted while it still has resources in vSphere or in a workload cluster that would then
//     not be counted, limited or removed.
//   - Only privileged users and the garbage collector can change such owner references of an existing object.
//     Managers of Cluster API can change references to its objects. A manager is a user who may update the status
//     of its Machines.
//   - Owner references that a request omits entirely, and the finalizer of an object that is not being deleted, keep
//     their stored values. Clients that replace an object by a manifest omit them.
package ownership

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// clusterAPI is the API group of Cluster API; its providers use subgroups.
const clusterAPI = "cluster.x-k8s.io"

// garbageCollectors are the user names of the Kubernetes garbage collector.
var garbageCollectors = []string{"system:serviceaccount:kube-system:generic-garbage-collector", user.KubeControllerManager}

// Admission protects finalizers and owner references.
type Admission struct {
	*admission.Handler
	privileged func(user.Info) bool
	authorizer authorizer.Authorizer
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// New returns the check. privileged reports whether a user may change everything; a decides whether a user is a
// manager of Cluster API.
func New(privileged func(user.Info) bool, a authorizer.Authorizer) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Update), privileged: privileged, authorizer: a}
}

// Admit adds the stored finalizer and owner references if the updated object omits them.
func (a *Admission) Admit(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	stored, updated := metadata(request)
	if stored == nil || a.privileged(request.GetUserInfo()) {
		return nil
	}
	if f := removed(request.GetOldObject(), stored, updated); f != "" && stored.GetDeletionTimestamp() == nil {
		updated.SetFinalizers(append(slices.Clone(updated.GetFinalizers()), f))
	}
	if len(decisive(updated)) > 0 {
		return nil
	}
	if _, err := a.refused(ctx, request, stored, updated); err != nil {
		updated.SetOwnerReferences(append(slices.Clone(updated.GetOwnerReferences()), decisive(stored)...))
	}
	return nil
}

// Validate rejects the request with a Forbidden error that names the finalizer or owner reference.
func (a *Admission) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	stored, updated := metadata(request)
	if stored == nil || a.privileged(request.GetUserInfo()) {
		return nil
	}
	if f := removed(request.GetOldObject(), stored, updated); f != "" {
		return admission.NewForbidden(request, fmt.Errorf("only privileged users may remove metadata.finalizers[%s]: "+
			"the server removes it when all resources of the object have been deleted", f))
	}
	if field, err := a.refused(ctx, request, stored, updated); err != nil {
		return admission.NewForbidden(request, fmt.Errorf("%s: %w", field, err))
	}
	return nil
}

// metadata returns the metadata of the stored and the updated object. It returns nil if they are not versions of the
// same kind.
func metadata(request admission.Attributes) (stored, updated metav1.Object) {
	stored, err := meta.Accessor(request.GetOldObject())
	if err != nil {
		return nil, nil
	}
	if updated, err = meta.Accessor(request.GetObject()); err != nil || reflect.TypeOf(request.GetObject()) != reflect.TypeOf(request.GetOldObject()) {
		return nil, nil // the body of a subresource
	}
	return stored, updated
}

// finalizerOf returns the finalizer of the kind of obj, or an empty string.
func finalizerOf(obj runtime.Object) string {
	switch obj.(type) {
	case *vmv1alpha1.VirtualMachine:
		return vmv1alpha1.VirtualMachineFinalizer
	case *vmv1alpha1.VirtualMachineSnapshot:
		return vmv1alpha1.SnapshotFinalizer
	case *vmv1alpha1.VirtualMachinePublishRequest:
		return vmv1alpha1.PublishRequestFinalizer
	case *vmv1alpha1.VirtualMachineImageCache:
		return vmv1alpha1.ImageCacheFinalizer
	case *vmv1alpha1.ContentLibrary:
		return vmv1alpha1.ContentLibraryFinalizer
	case *vmv1alpha1.VCenter:
		return vmv1alpha1.VCenterFinalizer
	case *vmv1alpha1.Zone:
		return vmv1alpha1.ZoneFinalizer
	case *clusterv1alpha1.Machine:
		return clusterv1alpha1.MachineFinalizer
	case *clusterv1alpha1.Cluster:
		return clusterv1alpha1.ClusterFinalizer
	}
	return ""
}

// removed returns the finalizer that the update removes, or an empty string.
func removed(obj runtime.Object, stored, updated metav1.Object) string {
	f := finalizerOf(obj)
	if f == "" || !slices.Contains(stored.GetFinalizers(), f) || slices.Contains(updated.GetFinalizers(), f) {
		return ""
	}
	return f
}

// refused returns an error and the field if the user may not make the change of the owner references.
func (a *Admission) refused(ctx context.Context, request admission.Attributes, stored, updated metav1.Object) (field string, err error) {
	differ := difference(decisive(stored), decisive(updated))
	if len(differ) == 0 || slices.Contains(garbageCollectors, request.GetUserInfo().GetName()) {
		return "", nil
	}
	first := differ[0]
	if i := slices.IndexFunc(differ, func(r metav1.OwnerReference) bool { return !ofClusterAPI(groupOf(r)) }); i >= 0 {
		first = differ[i]
	} else {
		decision, _, err := a.authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: request.GetUserInfo(), Verb: "update", Namespace: request.GetNamespace(), ResourceRequest: true,
			APIGroup: clusterAPI, APIVersion: "*", Resource: "machines", Subresource: "status",
		})
		if decision == authorizer.DecisionAllow {
			return "", nil
		}
		if err != nil {
			return "metadata.ownerReferences", fmt.Errorf("cannot determine whether %q is a manager of Cluster API: %w", request.GetUserInfo().GetName(), err)
		}
	}
	return fmt.Sprintf("metadata.ownerReferences[%s %s]", first.Kind, first.Name),
		fmt.Errorf("only controllers may change owners of group %s", groupOf(first))
}

// decisive returns the owner references that controllers depend on.
func decisive(o metav1.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(r metav1.OwnerReference) bool {
		group := groupOf(r)
		return group != vmv1alpha1.GroupName && group != itv1alpha1.GroupName && group != clusterv1alpha1.GroupName && !ofClusterAPI(group)
	})
}

func ofClusterAPI(group string) bool {
	return group == clusterAPI || strings.HasSuffix(group, "."+clusterAPI)
}

func groupOf(r metav1.OwnerReference) string {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

// difference returns the references that only one of a and b has, in any order. It ignores API versions and
// blockOwnerDeletion.
func difference(a, b []metav1.OwnerReference) (out []metav1.OwnerReference) {
	for _, pair := range [][2][]metav1.OwnerReference{{a, b}, {b, a}} {
		for _, r := range pair[0] {
			if !slices.ContainsFunc(pair[1], func(other metav1.OwnerReference) bool { return same(r, other) }) {
				out = append(out, r)
			}
		}
	}
	return out
}

func same(a, b metav1.OwnerReference) bool {
	return groupOf(a) == groupOf(b) && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID && ptr.Deref(a.Controller, false) == ptr.Deref(b.Controller, false)
}
