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

// drainTimeout is that of the only Machine, in seconds; 0 for none.
func (l *live) drainTimeout() int32 {
	l.t.Helper()
	return ptr.Deref(l.machines()[0].Spec.Deletion.NodeDrainTimeoutSeconds, 0)
}

// patch changes the drain timeout of the only Machine as a user does.
func (l *live) patch(seconds int32) {
	l.t.Helper()
	m := l.machines()[0]
	m.Spec.Deletion.NodeDrainTimeoutSeconds = &seconds
	if _, err := l.api.ClusterV1alpha1().Machines("dev").Update(context.Background(), m, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.after(time.Minute)
}

// A drain that a PodDisruptionBudget does not let end is ended by a timeout of the Machine.
func TestATimeoutOfAMachineThatGoesStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := run(t, theSet(1))
		defer func() { l.stop() }()
		if l.patch(10); l.drainTimeout() != 0 {
			t.Errorf("of a Machine that stays it is %d, want that of the template", l.drainTimeout())
		}
		l.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](0) })
		if l.patch(60); l.drainTimeout() != 60 {
			t.Errorf("of one that goes it is %d, want that of the user, 60", l.drainTimeout())
		}
		l.edit(func(s *set) { s.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](30) })
		if l.after(time.Minute); l.drainTimeout() != 30 {
			t.Errorf("after the template has changed it is %d, want 30", l.drainTimeout())
		}
		if l.patch(5); l.drainTimeout() != 5 {
			t.Errorf("changed again it is %d, want 5", l.drainTimeout())
		}
	})
}
