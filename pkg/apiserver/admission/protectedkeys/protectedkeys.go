// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protectedkeys is the admission check for annotations and labels that
// administrators and controllers use to steer the server.
//
// Guarantees:
//   - A key is protected when its prefix, the part before the slash, ends in
//     .protected or is protected. Only privileged users may add, change or remove one.
//   - So is an annotation that keeps a virtual machine from being deleted, and, once its
//     object is there, one that keeps it from being powered on.
//   - The check holds for every kind and every endpoint that takes an object, and for the
//     metadata that templates give to what the controllers, who are privileged, make of them.
//   - Keys that stay as they are never refuse a request.
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

// Admission refuses changes of protected keys by ordinary users.
type Admission struct {
	*admission.Handler
	privileged []string
}

var _ admission.ValidationInterface = &Admission{}

// New makes the check. Members of system:masters are privileged, and so are the users
// named.
func New(privilegedUsers ...string) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), privileged: privilegedUsers}
}

// Validate refuses the request with a Forbidden that names every key.
func (a *Admission) Validate(_ context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.Privileged(request.GetUserInfo()) {
		return nil
	}
	updated, stored := metadata(request.GetObject()), metadata(request.GetOldObject())
	annotation := func(key string) bool {
		return vmv1alpha1.ProtectedKey(key) || strings.HasPrefix(key, vmv1alpha1.CheckDeletePrefix) ||
			request.GetOperation() != admission.Create && strings.HasPrefix(key, vmv1alpha1.CheckPowerOnPrefix)
	}
	changed := changedIn("metadata", stored, updated, annotation)
	// What is made of a template is new, and may be kept from being powered on.
	changed = append(changed, changedIn("spec.template.metadata", ofTemplate(request.GetOldObject()), ofTemplate(request.GetObject()), func(key string) bool {
		return vmv1alpha1.ProtectedKey(key) || strings.HasPrefix(key, vmv1alpha1.CheckDeletePrefix)
	})...)
	if len(changed) == 0 {
		return nil
	}
	return admission.NewForbidden(request, fmt.Errorf("only privileged users may set, change or remove %s", strings.Join(changed, ", ")))
}

// Privileged tells whether who may change protected keys.
func (a *Admission) Privileged(who user.Info) bool {
	if who == nil {
		return false
	}
	return slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) || slices.Contains(a.privileged, who.GetName())
}

type keys struct{ annotations, labels map[string]string }

// metadata reads the keys of obj; an object without metadata has none.
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

// ofTemplate are the keys of what is made of obj, if it is a template or has one.
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

// changedIn names the protected keys that differ in the metadata at path.
func changedIn(path string, stored, updated keys, annotation func(key string) bool) []string {
	var changed []string
	for _, key := range changedKeys(stored.annotations, updated.annotations, annotation) {
		changed = append(changed, fmt.Sprintf("%s.annotations[%s]", path, key))
	}
	for _, key := range changedKeys(stored.labels, updated.labels, vmv1alpha1.ProtectedKey) {
		changed = append(changed, fmt.Sprintf("%s.labels[%s]", path, key))
	}
	return changed
}

// changedKeys returns, sorted, the protected keys that differ.
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
