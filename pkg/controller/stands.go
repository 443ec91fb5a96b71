// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errFalls is the error of Stands.
var errFalls = errors.New("is gone or being deleted")

// Stands is an error unless the server itself has an object that a cache has, and nobody deletes
// it. It is asked before the object becomes an owner: the garbage collector deletes what is owned by
// one that is gone, and a cache may be behind.
func Stands[T Object](ctx context.Context, client interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
}, known T) error {
	now, err := Found(client.Get(ctx, known.GetName(), metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", kindName(known), known.GetName(), err)
	}
	var none T
	if now == none || now.GetUID() != known.GetUID() || now.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s %w", kindName(known), known.GetName(), errFalls)
	}
	return nil
}
