// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protectedkeys is the admission check for annotations and labels with which administrators and controllers
// control the server.
//
// Guarantees:
//   - A key is protected if its prefix, the part before the slash, is "protected" or ends in ".protected". Only
//     privileged users can add, change or remove it.
//   - Annotations that prevent the deletion of a virtual machine are protected. Annotations that prevent powering it
//     on are protected after its creation.
//   - The check applies to every kind and to every endpoint that accepts an object. It includes the metadata in
//     templates, because the controllers that create objects from templates are privileged.
//   - Unchanged keys are not checked.
package protectedkeys

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Admission rejects changes of protected keys by users who are not privileged.
type Admission struct {
	*admission.Handler
	privileged []string
}

var _ admission.ValidationInterface = &Admission{}

// New returns the check. Members of system:masters and privilegedUsers are privileged.
func New(privilegedUsers ...string) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), privileged: privilegedUsers}
}

// Validate rejects the request with a Forbidden error that names every key.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.Privileged(request.GetUserInfo()) {
		return nil
	}
	updated, stored := metadata(request.GetObject()), metadata(request.GetOldObject())
	annotation := func(key string) bool {
		return vmv1alpha1.IsProtectedKey(key) || strings.HasPrefix(key, vmv1alpha1.CheckDeletePrefix) ||
			request.GetOperation() != admission.Create && strings.HasPrefix(key, vmv1alpha1.CheckPowerOnPrefix)
	}
	changed := changedIn("metadata", stored, updated, annotation)
	// Objects created from a template are new, so check-power-on annotations are allowed in it.
	changed = append(changed, changedIn("spec.template.metadata", ofTemplate(request.GetOldObject()), ofTemplate(request.GetObject()), func(key string) bool {
		return vmv1alpha1.IsProtectedKey(key) || strings.HasPrefix(key, vmv1alpha1.CheckDeletePrefix)
	})...)
	if len(changed) == 0 {
		return nil
	}
	return admission.NewForbidden(request, fmt.Errorf("only privileged users may set, change or remove %s", strings.Join(changed, ", ")))
}

// Privileged reports whether a user may change protected keys.
func (a *Admission) Privileged(who user.Info) bool {
	if who == nil {
		return false
	}
	return slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) || slices.Contains(a.privileged, who.GetName())
}

type keys struct{ annotations, labels map[string]string }

// metadata returns the keys of obj, which are empty if it has no metadata.
func metadata(obj runtime.Object) keys {
	if obj == nil {
		return keys{}
	}
	var accessor metav1.Object
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return keys{}
	}
	return keys{annotations: accessor.GetAnnotations(), labels: accessor.GetLabels()}
}

// ofTemplate returns the keys that obj gives to objects created from it, if it is or contains a template.
func ofTemplate(obj runtime.Object) keys {
	switch o := obj.(type) {
	case *vmv1alpha1.VirtualMachineTemplate:
		return keys{o.Spec.Template.Metadata.Annotations, o.Spec.Template.Metadata.Labels}
	case *clusterv1alpha1.MachineSet:
		return keys{o.Spec.Template.Metadata.Annotations, o.Spec.Template.Metadata.Labels}
	case *clusterv1alpha1.MachineDeployment:
		return keys{o.Spec.Template.Metadata.Annotations, o.Spec.Template.Metadata.Labels}
	}
	return keys{}
}

// changedIn returns the paths of the protected keys that differ in the metadata at path.
func changedIn(path string, stored, updated keys, annotation func(key string) bool) []string {
	var changed []string
	for _, key := range changedKeys(stored.annotations, updated.annotations, annotation) {
		changed = append(changed, fmt.Sprintf("%s.annotations[%s]", path, key))
	}
	for _, key := range changedKeys(stored.labels, updated.labels, vmv1alpha1.IsProtectedKey) {
		changed = append(changed, fmt.Sprintf("%s.labels[%s]", path, key))
	}
	return changed
}

// changedKeys returns the protected keys that differ, sorted.
func changedKeys(stored, updated map[string]string, protected func(key string) bool) []string {
	var changed []string
	for key, value := range updated {
		if before, ok := stored[key]; protected(key) && (!ok || before != value) {
			changed = append(changed, key)
		}
	}
	for key := range stored {
		if _, ok := updated[key]; protected(key) && !ok {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return changed
}
