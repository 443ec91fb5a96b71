// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestCreationLimits_LimitTheCreationsOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, theSet(130))
		defer func() { f.stop() }()
		for _, want := range []int{100, 110, 120, 130} {
			if got := len(f.machines()); got != want {
				t.Fatalf("%d Machines, want %d", got, want)
			}
			if want < 130 {
				f.expectCondition(clusterv1alpha1.ScalingUpCondition, "True", clusterv1alpha1.ScalingUpReason, fmt.Sprintf("Scaling up from %d to 130 replicas: "+
					"after 100 Machines in quick succession, the MachineSets of a namespace create 30 per minute", want))
			}
			time.Sleep(20 * time.Second)
			synctest.Wait()
		}
		f.expectCondition(clusterv1alpha1.ScalingUpCondition, "False", clusterv1alpha1.NotScalingUpReason, "")
	})
}

func TestCreationLimits_ApplyPerNamespace(t *testing.T) {
	p, now := newCreationLimits(60), time.Now()
	for range creationBurst {
		if delay := p.take("a", now); delay != 0 {
			t.Fatalf("delay %s, want none", delay)
		}
	}
	for namespace, want := range map[string]time.Duration{"a": 10 * time.Second, "b": 0} {
		if got := p.take(namespace, now); got != want {
			t.Errorf("namespace %s waits %s, want %s", namespace, got, want)
		}
	}
}
