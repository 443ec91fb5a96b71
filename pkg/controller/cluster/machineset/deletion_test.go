// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// drainTimeout returns the drain timeout of the only Machine in seconds, or 0 if there is none.
func (f *fixture) drainTimeout() int32 {
	f.t.Helper()
	return ptr.Deref(f.machines()[0].Spec.Deletion.NodeDrainTimeoutSeconds, 0)
}

// patch sets the drain timeout of the only Machine like a user.
func (f *fixture) patch(seconds int32) {
	f.t.Helper()
	m := f.machines()[0]
	m.Spec.Deletion.NodeDrainTimeoutSeconds = &seconds
	if _, err := f.api.ClusterV1alpha1().Machines("dev").Update(context.Background(), m, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.advance(time.Minute)
}

// A user sets a timeout on the Machine to end a drain that is blocked by a PodDisruptionBudget.
func TestMachineSet_KeepsTimeoutsOfMachinesThatAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(1))
		defer func() { f.stop() }()
		if f.patch(10); f.drainTimeout() != 0 {
			t.Errorf("the timeout of a running Machine is %d, want that of the template", f.drainTimeout())
		}
		f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](0) })
		if f.patch(60); f.drainTimeout() != 60 {
			t.Errorf("the timeout of a deleted Machine is %d, want that of the user, 60", f.drainTimeout())
		}
		f.edit(func(s *set) { s.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](30) })
		if f.advance(time.Minute); f.drainTimeout() != 30 {
			t.Errorf("the timeout after a change of the template is %d, want 30", f.drainTimeout())
		}
		if f.patch(5); f.drainTimeout() != 5 {
			t.Errorf("the timeout after another change is %d, want 5", f.drainTimeout())
		}
	})
}
