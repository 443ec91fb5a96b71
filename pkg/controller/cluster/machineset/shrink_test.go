// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// The user scales down because creations are rejected permanently.
func TestMachineSet_ScalesDownAlthoughCreationsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(0))
		defer func() { f.stop() }()
		f.refuse("create infras", true)
		f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](2) })
		f.advance(time.Minute)
		refused := f.machines()[0]
		f.edit(func(s *set) { s.Spec.Replicas = ptr.To[int32](0) })
		f.advance(10 * time.Minute)
		if m := f.machines()[0]; m.DeletionTimestamp == nil {
			t.Errorf("Machine %s was not deleted, although replicas is 0", m.Name)
		}
		f.expectCondition(clusterv1alpha1.ScalingDownCondition, "True", "ScalingDown", "Scaling down from 1 to 0 replicas")
		f.removeMachine(refused)
		f.advance(time.Minute)
		f.counts("scaled down", 0, 0, 0)
	})
}
