// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// A reconcile of a VM that the provider has not read could do nothing. The provider's next event queues it.
func TestHandlers_InitialListSkipsUnreadVMs(t *testing.T) {
	p := &scripted{unread: true}
	for name, test := range map[string]struct {
		vm      *vmv1alpha1.VirtualMachine
		initial bool
		want    []handedOut
	}{
		"created":          {stable(), true, nil},
		"being created":    {fresh(), true, []handedOut{{"vm", controller.PriorityDefaultCreate}}},
		"being deleted":    {stable(deleting), true, []handedOut{{"vm", controller.PriorityDefaultCreate}}},
		"created and read": {stable(), false, []handedOut{{"vm", controller.PriorityDefaultCreate}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := assembleWith(t, p)
			a.enqueuer.Handler().OnAdd(test.vm, test.initial)
			if diff := cmp.Diff(test.want, a.drain()); diff != "" {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
		})
	}
}
