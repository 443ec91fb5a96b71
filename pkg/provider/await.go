// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
)

// Await turns the answer of CreateOrUpdateVirtualMachineAsync into that of
// CreateOrUpdateVirtualMachine: it waits for the operation that was started, if
// any, and then asks for another pass.
func Await(ctx context.Context, end <-chan error, err error) error {
	if end == nil {
		return err
	}
	select {
	case failure := <-end:
		if err := errors.Join(err, failure); err != nil {
			return err
		}
		return &RequeueError{Reason: "an operation has ended"}
	case <-ctx.Done():
		return ctx.Err()
	}
}
