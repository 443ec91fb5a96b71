// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Tasks do not survive a restart of vCenter, and the stream does not tell of it.
func TestATaskThatVCenterHasForgottenIsLostAndNotDone(t *testing.T) {
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		forgotten := types.ManagedObjectReference{Type: "Task", Value: "task-forgotten"}
		recheck := make(chan time.Time, 1)
		recheck <- time.Time{}
		_, err := awaitTask(ctx, c, forgotten, nil, recheck)
		var lost *vimfault.TaskLostError
		if !errors.As(err, &lost) || lost.Task != forgotten {
			t.Errorf("error %v, want that %s is lost", err, forgotten.Value)
		}
		if kind := vimfault.KindOf(err); kind == vimfault.NotFound {
			t.Errorf("a lost task is sorted as %s: a destroy of which nothing is known would count as done", kind)
		}
	})
}
