// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// ValidateControllerRevision checks that a new revision contains an object. It does not check the object.
func ValidateControllerRevision(obj *itv1alpha1.ControllerRevision) field.ErrorList {
	errs := validateMeta(&obj.ObjectMeta, true)
	path := field.NewPath("data")
	if len(obj.Data.Raw) == 0 {
		errs = append(errs, field.Required(path, "must contain the pinned object"))
	} else if _, err := decodeData(obj); err != nil {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "must be an object: "+err.Error()))
	}
	return append(errs, apivalidation.ValidateNonnegativeField(obj.Revision, field.NewPath("revision"))...)
}

// ValidateControllerRevisionUpdate rejects all changes except those of metadata.
func ValidateControllerRevisionUpdate(obj, old *itv1alpha1.ControllerRevision) field.ErrorList {
	errs := append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta), ValidateControllerRevision(obj)...)
	content, err := decodeData(obj)
	oldContent, oldErr := decodeData(old)
	// A patch can change the order of the fields.
	if err != nil || oldErr != nil || !equality.Semantic.DeepEqual(content, oldContent) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), "is immutable"))
	}
	return append(errs, apivalidation.ValidateImmutableField(obj.Revision, old.Revision, field.NewPath("revision"))...)
}

func decodeData(obj *itv1alpha1.ControllerRevision) (map[string]any, error) {
	var content map[string]any
	err := json.Unmarshal(obj.Data.Raw, &content)
	return content, err
}
