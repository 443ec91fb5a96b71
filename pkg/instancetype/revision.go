// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// Labels of a ControllerRevision that describe its object.
const (
	// LabelObjectName is the name of the object, shortened if it is too long for a label.
	LabelObjectName = "instancetype.slipway.dev/object-name"
	// LabelObjectKind is the kind, for example VirtualMachineInstancetype.
	LabelObjectKind = "instancetype.slipway.dev/object-kind"
	// LabelObjectUID is the UID.
	LabelObjectUID = "instancetype.slipway.dev/object-uid"
	// LabelObjectGeneration is the generation.
	LabelObjectGeneration = "instancetype.slipway.dev/object-generation"
	// LabelObjectVersion is the API version of the stored object. A revision with another or no version is upgraded
	// when a virtual machine uses it.
	LabelObjectVersion = "instancetype.slipway.dev/object-version"
)

// objectVersion is the API version of new revisions.
var objectVersion = itv1alpha1.SchemeGroupVersion.Version

// revisionContent is the content of a revision: an object of any of the kinds.
type revisionContent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              any `json:"spec"`
}

// NewRevision returns a ControllerRevision of o for all virtual machines in namespace. It contains the object without
// its labels, annotations, finalizers, owners and managed fields. It has no owner reference, so that it is deleted only
// if no object uses it, and never by garbage collection.
func NewRevision(namespace string, o *Object) (*itv1alpha1.ControllerRevision, error) {
	content := revisionContent{
		TypeMeta: metav1.TypeMeta{
			APIVersion: itv1alpha1.SchemeGroupVersion.String(),
			Kind:       o.Kind.TypeName(),
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:              o.Meta.Name,
			Namespace:         o.Meta.Namespace,
			UID:               o.Meta.UID,
			ResourceVersion:   o.Meta.ResourceVersion,
			Generation:        o.Meta.Generation,
			CreationTimestamp: o.Meta.CreationTimestamp,
		},
		Spec: o.spec(),
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q for its revision: %w", o.Kind, o.Meta.Name, err)
	}
	return &itv1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:      RevisionName(o),
			Namespace: namespace,
			Labels: map[string]string{
				LabelObjectName:       labelValue(o.Meta.Name),
				LabelObjectKind:       o.Kind.TypeName(),
				LabelObjectUID:        labelValue(string(o.Meta.UID)),
				LabelObjectGeneration: strconv.FormatInt(o.Meta.Generation, 10),
				LabelObjectVersion:    objectVersion,
			},
		},
		Data:     runtime.RawExtension{Raw: raw},
		Revision: o.Meta.Generation,
	}, nil
}

// spec returns the spec that is set.
func (o *Object) spec() any {
	if o.Kind.Role() == RolePreference {
		return o.Preference
	}
	return o.Instancetype
}

// EqualRevisions reports whether two revisions contain the same kind of object with the same spec. It ignores metadata.
func EqualRevisions(a, b *itv1alpha1.ControllerRevision) (bool, error) {
	left, err := decodeAny(a)
	if err != nil {
		return false, err
	}
	right, err := decodeAny(b)
	if err != nil {
		return false, err
	}
	return left.Kind == right.Kind && equality.Semantic.DeepEqual(left.spec(), right.spec()), nil
}

// CheckSameContent returns an error if existing, which has the same name as wanted, has a different content.
func CheckSameContent(existing, wanted *itv1alpha1.ControllerRevision) error {
	equal, err := EqualRevisions(existing, wanted)
	if err != nil {
		return fmt.Errorf("comparing ControllerRevision %q: %w", existing.Name, err)
	}
	if !equal {
		return fmt.Errorf("found existing ControllerRevision with unexpected data: %s", existing.Name)
	}
	return nil
}
