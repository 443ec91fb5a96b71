// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"sync"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// A server that is stopped during startup logs out while its first calls run.
func TestLogout_DuringACallDoesNotAffectOtherSessions(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	for range 300 {
		c := connect(ctx, t, s)
		content := c.ServiceContent
		var calls sync.WaitGroup
		for range 4 { // a session may have ended meanwhile
			calls.Go(func() {
				_, _ = methods.CreateCollectorForEvents(ctx, c, &types.CreateCollectorForEvents{This: *content.EventManager})
			})
			calls.Go(func() {
				_, _ = methods.CreateContainerView(ctx, c, &types.CreateContainerView{This: *content.ViewManager, Container: content.RootFolder})
			})
		}
		calls.Go(func() { _ = c.Logout(ctx) })
		calls.Wait()
	}
	if err := ctx.Err(); err != nil {
		t.Fatal(err)
	}
	connect(ctx, t, s)
}
