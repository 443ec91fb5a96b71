// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errNotLive is returned by VerifyOwnerIsLive if an object cannot be an owner.
var errNotLive = errors.New("no longer exists or is being deleted")

// VerifyOwnerIsLive reads a cached object from the server and returns an error if it does not exist or is being deleted. It must
// be called before the object becomes an owner: the cache may be outdated, and the garbage collector deletes objects
// whose owner does not exist.
func VerifyOwnerIsLive[T Object](ctx context.Context, client interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
}, cached T) error {
	current, err := IgnoreNotFound(client.Get(ctx, cached.GetName(), metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", kindName(cached), cached.GetName(), err)
	}
	var none T
	if current == none || current.GetUID() != cached.GetUID() || current.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s %w", kindName(cached), cached.GetName(), errNotLive)
	}
	return nil
}
