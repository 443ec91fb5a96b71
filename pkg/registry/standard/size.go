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

// limitCreate refuses an object that is too large, with 413.
func limitCreate(_ context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
	return finish, limit(obj, 0)
}

// limitUpdate refuses an object that became too large, with 413. One that was too large
// before may stay so, for it has to be deleted by updates.
func limitUpdate(_ context.Context, obj, old runtime.Object, _ *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return finish, limit(obj, size(old))
}

// limit refuses obj unless it is within the bound or no larger than before.
func limit(obj runtime.Object, before int) error {
	n := size(obj)
	if n <= bounds.MaxObject || n <= before {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s has %d bytes with its metadata and status, and may have %d",
		metaOf(obj).GetName(), n, bounds.MaxObject))
}

// size is that of the encoding in which objects are kept.
func size(obj runtime.Object) int {
	if encoded, ok := obj.(interface{ Size() int }); ok {
		return encoded.Size()
	}
	return 0
}

func finish(context.Context, bool) {}
