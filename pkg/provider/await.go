// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
)

// Await waits for the operation that CreateOrUpdateVirtualMachineAsync has started, if any, and then returns a
// RequeueError. Providers use it to implement CreateOrUpdateVirtualMachine.
func Await(ctx context.Context, r Result, err error) (Result, error) {
	if r.Ended == nil {
		return r, err
	}
	select {
	case failure := <-r.Ended:
		r.Ended = nil
		if err := errors.Join(err, failure); err != nil {
			return r, err
		}
		return r, &RequeueError{Reason: "an operation has ended"}
	case <-ctx.Done():
		return r, ctx.Err()
	}
}
