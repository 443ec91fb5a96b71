// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
)

// limitCreate rejects an object that is too large with status 413.
func limitCreate(_ context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
	return finish, checkSize(obj, 0)
}

// limitUpdate rejects an update that makes an object too large with status 413. An object that was already too large
// may keep its size, because updates are needed to delete it.
func limitUpdate(_ context.Context, obj, old runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return finish, checkSize(obj, encodedSize(old))
}

// checkSize returns an error if obj exceeds the limit and is larger than before.
func checkSize(obj runtime.Object, before int) error {
	n := encodedSize(obj)
	if n <= bounds.MaxObject || n <= before {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the size of %s, including metadata and status, is %d bytes; the maximum is %d",
		metaOf(obj).GetName(), n, bounds.MaxObject))
}

// encodedSize returns the size of the stored encoding.
func encodedSize(obj runtime.Object) int {
	if encoded, ok := obj.(interface{ Size() int }); ok {
		return encoded.Size()
	}
	return 0
}

func finish(context.Context, bool) {}
