// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "context"

// Shard determines which objects this replica reconciles. Objects are divided by their vCenter. Objects without a
// vCenter belong to the vCenter with the empty name.
type Shard interface {
	// Bind waits until this replica may reconcile the objects of a vCenter, and returns a context for that. An error
	// other than that of ctx means that another replica reconciles them.
	Bind(ctx context.Context, vcenter string) (context.Context, error)
	// IsOwned reports whether this replica reconciles the objects of a vCenter.
	IsOwned(vcenter string) bool
	// Watch calls gained with the name of each vCenter whose objects this replica reconciles or begins to reconcile
	// before ctx is done. It can call gained several times with the same name. gained must not block.
	Watch(ctx context.Context, gained func(vcenter string))
}

// Undivided is the Shard of a process that reconciles all objects.
type Undivided struct{}

// Bind implements Shard.
func (Undivided) Bind(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }

// IsOwned implements Shard.
func (Undivided) IsOwned(string) bool { return true }

// Watch implements Shard.
func (Undivided) Watch(context.Context, func(string)) {}
