// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// kubevirtGroup is the group whose objects revisions of KubeVirt hold. Their
// specs have the same fields.
const kubevirtGroup = "instancetype.kubevirt.io"

// envelope is the content of a revision before its spec is read. The oldest
// revisions of KubeVirt have no kind, and the spec as base64 of JSON.
type envelope struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec            json.RawMessage   `json:"spec"`
}

// Captured is a ControllerRevision together with what it holds. It is not changed.
type Captured struct {
	// Revision is as it was read.
	Revision *itv1alpha1.ControllerRevision
	object   *Object
	err      error
}

// Decode reads what revision holds, in any format that this project or KubeVirt
// wrote. It always succeeds; the failure is that of Object.
func Decode(revision *itv1alpha1.ControllerRevision) *Captured {
	object, err := decodeAny(revision)
	return &Captured{Revision: revision, object: object, err: err}
}

// Object returns the instance type or preference that the revision holds. The error
// is a *RevisionError when it holds something else.
func (c *Captured) Object(role Role) (*Object, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.object.Kind.Role() != role {
		return nil, &RevisionError{Name: c.Revision.Name, Message: fmt.Sprintf(
			"it holds a %s, which is no %s", c.object.Kind.TypeName(), role.noun())}
	}
	return c.object, nil
}

func decodeAny(revision *itv1alpha1.ControllerRevision) (*Object, error) {
	fail := func(format string, args ...any) (*Object, error) {
		return nil, &RevisionError{Name: revision.Name, Message: fmt.Sprintf(format, args...)}
	}
	if len(revision.Data.Raw) == 0 {
		return fail("it is empty")
	}
	var content envelope
	if err := json.Unmarshal(revision.Data.Raw, &content); err != nil {
		return fail("its content is not an object: %s", err)
	}
	gv, err := schema.ParseGroupVersion(content.APIVersion)
	if err != nil || (gv.Group != itv1alpha1.GroupName && gv.Group != kubevirtGroup) {
		return fail("it holds an object of apiVersion %q, allowed are the groups %s and %s",
			content.APIVersion, itv1alpha1.GroupName, kubevirtGroup)
	}
	object := &Object{Meta: content.Metadata}
	if content.Kind == "" {
		fromLegacyLabels(object, &content, revision.Labels)
	}
	kind, ok := kindOf(content.Kind)
	if !ok {
		return fail("it holds an object of kind %q, which is neither instance type nor preference", content.Kind)
	}
	object.Kind = kind
	if object.Meta.Name == "" {
		return fail("its content has no metadata.name")
	}
	if err := object.decodeSpec(content.Spec); err != nil {
		return fail("its spec cannot be read: %s", err)
	}
	return object, nil
}

// kindOf is ParseKind of both roles, without a default.
func kindOf(name string) (Kind, bool) {
	for kind, typeName := range typeNames {
		if name == typeName {
			return kind, true
		}
	}
	return "", false
}

// fromLegacyLabels fills what the oldest format keeps in labels only.
func fromLegacyLabels(object *Object, content *envelope, labels map[string]string) {
	content.Kind = labels[kubevirtGroup+"/object-kind"]
	object.Meta.Name = labels[kubevirtGroup+"/object-name"]
	object.Meta.UID = types.UID(labels[kubevirtGroup+"/object-uid"])
	if generation, err := strconv.ParseInt(labels[kubevirtGroup+"/object-generation"], 10, 64); err == nil {
		object.Meta.Generation = generation
	}
}

// decodeSpec reads the spec of the kind, which is JSON or base64 of JSON.
func (o *Object) decodeSpec(raw json.RawMessage) error {
	if len(raw) > 0 && raw[0] == '"' {
		var inner []byte
		if err := json.Unmarshal(raw, &inner); err != nil {
			return err
		}
		raw = inner
	}
	if o.Kind.Role() == RolePreference {
		o.Preference = &itv1alpha1.VirtualMachinePreferenceSpec{}
		return json.Unmarshal(raw, o.Preference)
	}
	o.Instancetype = &itv1alpha1.VirtualMachineInstancetypeSpec{}
	return json.Unmarshal(raw, o.Instancetype)
}

// Valid reports whether the revision holds an instance type or a preference.
func (c *Captured) Valid() bool { return c.err == nil }
