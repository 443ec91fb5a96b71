// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
)

// AddFinalizer returns obj with a finalizer. It writes the object unless it has the finalizer already.
func AddFinalizer[T Object](ctx context.Context, s Store[T], client Client[T], obj T, finalizer string) (T, error) {
	if slices.Contains(obj.GetFinalizers(), finalizer) {
		return obj, nil
	}
	next := obj.DeepCopyObject().(T)
	next.SetFinalizers(append(next.GetFinalizers(), finalizer))
	return s.Update(ctx, client, next)
}

// RemoveFinalizer removes a finalizer from obj and writes the object, if it has the finalizer. It returns the result of
// the reconcile.
func RemoveFinalizer[T Object](ctx context.Context, s Store[T], client Client[T], obj T, finalizer string) (Result, error) {
	if !slices.Contains(obj.GetFinalizers(), finalizer) {
		return Result{}, nil
	}
	next := obj.DeepCopyObject().(T)
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == finalizer }))
	_, err := s.Update(ctx, client, next)
	return RequeueOnConflict(err)
}
