// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// checkBody returns the body of a subresource request for the virtual machine name. It returns an error if the body has
// the wrong kind, is invalid or is rejected by admission.
func checkBody[T runtime.Object](ctx context.Context, subresource, name string, body runtime.Object, admit rest.ValidateObjectFunc, validate func(T) field.ErrorList) (T, error) {
	kind := reflect.TypeFor[T]().Elem().Name()
	options, ok := body.(T)
	if !ok {
		return options, apierrors.NewBadRequest(fmt.Sprintf("%s requires %s, not a %T", subresource, kind, body))
	}
	if errs := validate(options); len(errs) > 0 {
		return options, apierrors.NewInvalid(vmv1alpha1.Kind(kind), name, errs)
	}
	if admit == nil {
		return options, nil
	}
	return options, admit(ctx, options.DeepCopyObject())
}
