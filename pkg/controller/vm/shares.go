// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Shares divide virtual machines among processes.
type Shares interface {
	// Of names the share of a virtual machine.
	Of(vm *vmv1alpha1.VirtualMachine) string
	// Held tells whether a share is this process's.
	Held(share string) bool
	// Bind waits until there may be a pass over a virtual machine of a share, and returns
	// the context for it. An error, if it is not that of ctx, means that the share is another
	// process's.
	Bind(ctx context.Context, share string) (context.Context, error)
	// Watch calls gained with every share that is or becomes this process's, until ctx is
	// done. One may come more than once. gained must not block.
	Watch(ctx context.Context, gained func(share string))
}

// undivided is one share, which is this process's.
type undivided struct{}

func (undivided) Of(*vmv1alpha1.VirtualMachine) string { return "" }

func (undivided) Held(string) bool { return true }

func (undivided) Bind(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }

func (undivided) Watch(context.Context, func(string)) {}
