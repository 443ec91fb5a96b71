// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// Status must not keep the ID of a VM that a deletion does not destroy. Otherwise events would report the VM as
// deleted.
func TestDeletion_ClearsTheIDOfAVMThatItDoesNotOwn(t *testing.T) {
	for name, owner := range map[string]string{"no owner": "", "owned by another object": "another"} {
		t.Run(name, func(t *testing.T) {
			runInBubble(t, func(s *testSetup) {
				req := s.runningVM("vm")
				s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Owner = owner })
				if err := s.remove(req); err != nil {
					t.Fatal(err)
				}
				if id := req.VM.Status.UniqueID; id != "" {
					t.Errorf("status has ID %s of a VM that is kept", id)
				}
				left := false
				s.driver.Change(string(req.VM.UID), func(*fake.VM) { left = true })
				if !left {
					t.Error("the virtual machine is destroyed")
				}
			})
		})
	}
}
