// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// silent is a vCenter that keeps the connection open and never responds.
type silent struct{}

func (silent) RoundTrip(ctx context.Context, _, _ soap.HasFault) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWait_EndsTheStreamIfTheServerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := New(Options{MaxWait: 30})
		began := time.Now()
		err := i.follow(t.Context(), &collector{client: &vim25.Client{RoundTripper: silent{}}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the stream ended with %v, want a deadline error", err)
		}
		if d := time.Since(began); d != 30*time.Second+waitMargin {
			t.Errorf("the stream ended after %s, want the wait and %s more", d, waitMargin)
		}
	})
}
