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

// kubevirtGroup is the API group of objects in KubeVirt's revisions. Their specs have the same fields.
const kubevirtGroup = "instancetype.kubevirt.io"

// envelope is the content of a revision before its spec is decoded. The oldest revisions of KubeVirt have no kind, and
// their spec is base64-encoded JSON.
type envelope struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec            json.RawMessage   `json:"spec"`
}

// DecodedRevision is a ControllerRevision and the object in it. It must not be changed.
type DecodedRevision struct {
	// Revision is the revision as read.
	Revision *itv1alpha1.ControllerRevision
	object   *Object
	err      error
}

// Decode decodes revision, in any format that Slipway or KubeVirt has written. A failure is returned by Object.
func Decode(revision *itv1alpha1.ControllerRevision) *DecodedRevision {
	object, err := decodeAny(revision)
	return &DecodedRevision{Revision: revision, object: object, err: err}
}

// Object returns the instance type or preference in the revision. The error is a *RevisionError if the revision does
// not contain an object of role.
func (c *DecodedRevision) Object(role Role) (*Object, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.object.Kind.Role() != role {
		return nil, &RevisionError{Name: c.Revision.Name, Message: fmt.Sprintf(
			"it contains a %s, which cannot be used for spec.%s", c.object.Kind.TypeName(), role)}
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
		return fail("it contains an object with apiVersion %q; the API group must be %s or %s",
			content.APIVersion, itv1alpha1.GroupName, kubevirtGroup)
	}
	object := &Object{Meta: content.Metadata}
	if content.Kind == "" {
		fromLegacyLabels(object, &content, revision.Labels)
	}
	kind, ok := kindOf(content.Kind)
	if !ok {
		return fail("it contains an object of kind %q, which is neither an instance type nor a preference", content.Kind)
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

// kindOf returns the Kind for a type name.
func kindOf(name string) (Kind, bool) {
	for kind, typeName := range typeNames {
		if name == typeName {
			return kind, true
		}
	}
	return "", false
}

// fromLegacyLabels sets the fields that the oldest format has only in labels.
func fromLegacyLabels(object *Object, content *envelope, labels map[string]string) {
	content.Kind = labels[kubevirtGroup+"/object-kind"]
	object.Meta.Name = labels[kubevirtGroup+"/object-name"]
	object.Meta.UID = types.UID(labels[kubevirtGroup+"/object-uid"])
	if generation, err := strconv.ParseInt(labels[kubevirtGroup+"/object-generation"], 10, 64); err == nil {
		object.Meta.Generation = generation
	}
}

// decodeSpec decodes a spec in JSON or base64-encoded JSON.
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

// Valid reports whether the revision contains an instance type or a preference.
func (c *DecodedRevision) Valid() bool { return c.err == nil }
