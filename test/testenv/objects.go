// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// The methods of this file replace kubectl processes in tests that do not test kubectl. A process costs as much CPU
// time as the servers need for the request.

// objectsOf returns the objects of a manifest.
func objectsOf(manifest string) (all []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// at returns a client for objects of a kind, given by one of the names that kubectl accepts.
func (u User) at(kind, namespace string) (dynamic.ResourceInterface, error) {
	r, err := readerOf(u.Kubeconfig)
	if err != nil {
		return nil, err
	}
	m, err := r.mapping(kind)
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return r.client.Resource(m.Resource).Namespace(namespace), nil
	}
	return r.client.Resource(m.Resource), nil
}

// each calls do with each object of a manifest.
func (u User) each(manifest string, do func(at dynamic.ResourceInterface, o *unstructured.Unstructured) error) error {
	all, err := objectsOf(manifest)
	if err != nil {
		return err
	}
	for _, o := range all {
		gvk := o.GroupVersionKind()
		kind := gvk.Kind
		if gvk.Group != "" {
			kind += "." + gvk.Version + "." + gvk.Group
		}
		namespace := u.Namespace
		if own := o.GetNamespace(); own != "" {
			namespace = own
		}
		at, err := u.at(kind, namespace)
		if err != nil {
			return err
		}
		if err := do(at, o); err != nil {
			return err
		}
	}
	return nil
}

// Put creates or changes the objects of a manifest.
func (u User) Put(manifest string) {
	u.T.Helper()
	if err := u.TryPut(manifest); err != nil {
		u.T.Fatalf("%v\n%s", err, manifest)
	}
}

// TryPut is like Put and returns the error of a rejected request.
func (u User) TryPut(manifest string) error {
	return u.each(manifest, func(at dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		data, err := json.Marshal(o)
		if err != nil {
			return err
		}
		force := true
		_, err = at.Patch(u.T.Context(), o.GetName(), types.ApplyPatchType, data,
			metav1.PatchOptions{FieldManager: "test", Force: &force, FieldValidation: metav1.FieldValidationStrict})
		return err
	})
}

// TryCreate creates the objects of a manifest in a dry run.
func (u User) TryCreate(manifest string) error {
	return u.each(manifest, func(at dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := at.Create(u.T.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

// Denied creates the objects of a manifest, which must be rejected with all texts.
func (u User) Denied(manifest string, texts ...string) {
	u.T.Helper()
	if err := lacks(u.TryCreate(manifest), texts); err != nil {
		u.T.Errorf("%v\n%s", err, manifest)
	}
}

// DeniedAtLast waits until the creation of the objects of a manifest is rejected with all texts.
func (u User) DeniedAtLast(manifest string, texts ...string) {
	u.T.Helper()
	Eventually(u.T, 5*Short, fmt.Sprintf("creation is refused with %q", texts), func() error { return lacks(u.TryCreate(manifest), texts) })
}

// lacks returns nil for an error that has all texts.
func lacks(refusal error, texts []string) error {
	if refusal == nil {
		return fmt.Errorf("it was allowed, want an error with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(refusal.Error(), text) {
			return fmt.Errorf("refused without %q: %w", text, refusal)
		}
	}
	return nil
}

// Patch applies a merge patch to an object, given as kind/name, or to its subresource.
func (u User) Patch(object, patch string, subresources ...string) {
	u.T.Helper()
	if err := u.TryPatch(object, patch, subresources...); err != nil {
		u.T.Fatalf("patching %s by %s: %v", object, patch, err)
	}
}

// TryPatch is like Patch and returns the error of a rejected request.
func (u User) TryPatch(object, patch string, subresources ...string) error {
	kind, name, _ := strings.Cut(object, "/")
	at, err := u.at(kind, u.Namespace)
	if err != nil {
		return err
	}
	_, err = at.Patch(u.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// PatchDenied patches an object, which must be rejected with all texts.
func (u User) PatchDenied(object, patch string, texts ...string) {
	u.T.Helper()
	if err := lacks(u.TryPatch(object, patch), texts); err != nil {
		u.T.Errorf("patching %s by %s: %v", object, patch, err)
	}
}

// Label sets labels of an object, each name=value, or removes them, each name-.
func (u User) Label(object string, labels ...string) {
	u.T.Helper()
	u.Patch(object, keys("labels", labels))
}

// Annotate is Label for annotations.
func (u User) Annotate(object string, annotations ...string) {
	u.T.Helper()
	u.Patch(object, keys("annotations", annotations))
}

// keys returns a patch of labels or annotations.
func keys(field string, pairs []string) string {
	values := map[string]*string{}
	for _, pair := range pairs {
		if key, value, ok := strings.Cut(pair, "="); ok {
			values[key] = &value
		} else {
			values[strings.TrimSuffix(pair, "-")] = nil
		}
	}
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(map[string]any{"metadata": map[string]any{field: values}})
	return b.String()
}

// Remove deletes objects and does not wait until they do not exist.
func (u User) Remove(objects ...string) {
	u.T.Helper()
	background := metav1.DeletePropagationBackground
	for _, object := range objects {
		kind, name, _ := strings.Cut(object, "/")
		at, err := u.at(kind, u.Namespace)
		if err == nil {
			err = at.Delete(context.WithoutCancel(u.T.Context()), name, metav1.DeleteOptions{PropagationPolicy: &background})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			u.T.Errorf("deleting %s: %v", object, err)
		}
	}
}

// Delete deletes objects and waits until they do not exist.
func (u User) Delete(objects ...string) {
	u.T.Helper()
	u.Remove(objects...)
	for _, object := range objects {
		u.Wants(object, ".metadata.name", "")
	}
}

// Meets waits until a condition of objects is true.
func (u User) Meets(condition string, objects ...string) {
	u.T.Helper()
	for _, object := range objects {
		u.Wants(object, fmt.Sprintf(`.status.conditions[?(@.type==%q)].status`, condition), string(metav1.ConditionTrue))
	}
}

// Ready waits until objects are ready.
func (u User) Ready(objects ...string) { u.T.Helper(); u.Meets("Ready", objects...) }

// RemoveAtEnd deletes objects at the end of the test.
func (u User) RemoveAtEnd(objects ...string) {
	u.T.Cleanup(func() { u.Remove(objects...) })
}

// Grant binds another user to a ClusterRole in the namespace.
func (u User) Grant(who, clusterRole string) {
	u.T.Helper()
	u.Put(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s-%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, who, clusterRole))
}

// Allow grants another user an RBAC rule in the namespace.
func (u User) Allow(who, role, rule string) {
	u.T.Helper()
	u.Put(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[2]s}
rules: [%[3]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s-%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[2]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, who, role, rule))
}

// As returns a user with the name, in the namespace.
func (u User) As(name string) User {
	u.T.Helper()
	kubeconfig, err := Of(u.T).UserKubeconfig(name)
	if err != nil {
		u.T.Fatal(err)
	}
	return User{T: u.T, Kubeconfig: kubeconfig, Namespace: u.Namespace}
}
