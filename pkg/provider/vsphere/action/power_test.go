// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// A guest that may be shutting down must not be powered off.
func TestRunByMode_ForcesOnlyAGuestThatDoesNotComply(t *testing.T) {
	const soft, try, hard = vmv1alpha1.PowerOpModeSoft, vmv1alpha1.PowerOpModeTrySoft, vmv1alpha1.PowerOpModeHard
	for name, tc := range map[string]struct {
		mode          vmv1alpha1.PowerOpMode
		err           error
		forced, ended bool
	}{
		"the guest complies":         {mode: try},
		"hard mode":                  {mode: hard, forced: true},
		"no VMware Tools":            {mode: try, err: soap.WrapVimFault(&types.ToolsUnavailable{}), forced: true},
		"no VMware Tools, soft mode": {mode: soft, err: soap.WrapVimFault(&types.ToolsUnavailable{})},
		"the grace period is over":   {mode: try, err: fmt.Errorf("x: %w", &guestTimeoutError{context.DeadlineExceeded}), forced: true},
		"the response was lost":      {mode: try, err: fmt.Errorf("asking the guest: %w", io.EOF)},
		"a proxy responded":          {mode: try, err: &vimfault.UnavailableError{StatusCode: 504}},
		"the host did not respond":   {mode: try, err: soap.WrapVimFault(&types.HostCommunication{})},
		"a migration is running":     {mode: try, err: soap.WrapVimFault(&types.TaskInProgress{})},
		"the caller stopped waiting": {mode: try, err: context.Canceled, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.ended {
				cancel()
			}
			forced := false
			err := runByMode(ctx, tc.mode, func() error { return tc.err }, func() error { forced = true; return nil })
			if forced != tc.forced {
				t.Errorf("forced: %v, want %v", forced, tc.forced)
			}
			if !forced && !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v, so that the request is repeated", err, tc.err)
			}
		})
	}
}
