// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestHealthChecks_WriteTheSameResultForOneMachine(t *testing.T) {
	for name, test := range map[string]struct {
		// unhealthy is the status of Ready that the second check treats as unhealthy.
		unhealthy metav1.ConditionStatus
		node      corev1.ConditionStatus
		want      string
		// alone is the result of the first check without the second.
		alone string
	}{
		"both find it unhealthy":  {metav1.ConditionFalse, corev1.ConditionFalse, "False UnhealthyNode, False WaitingForRemediation", "False UnhealthyNode, False WaitingForRemediation"},
		"one finds it unhealthy":  {metav1.ConditionTrue, corev1.ConditionTrue, "False UnhealthyNode, False WaitingForRemediation", "True HealthCheckSucceeded, False WaitingForRemediation"},
		"none finds it unhealthy": {metav1.ConditionUnknown, corev1.ConditionTrue, "True HealthCheckSucceeded, False WaitingForRemediation", "True HealthCheckSucceeded, False WaitingForRemediation"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				strict := theCheck()
				strict.Name, strict.UID = "strict", "strict"
				strict.Spec.Checks.UnhealthyNodeConditions = []clusterv1alpha1.UnhealthyCondition{{Type: "Ready", Status: test.unhealthy, TimeoutSeconds: ptr.To[int32](0)}}
				fx := run(t, theCluster(), theCheck(), strict, theMachine("a"))
				fx.updateNode("a", node("a", test.node, 4))
				fx.until(15)
				fx.expectConditions(name, "a", test.want)
				fx.writes()
				fx.until(24 * 60)
				if writes := fx.writes(); len(writes) > 0 {
					t.Errorf("%d writes in a day without changes, the first %s", len(writes), writes[0])
				}
				if err := fx.api.ClusterV1alpha1().MachineHealthChecks("dev").Delete(context.Background(), "strict", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				fx.until(24*60 + 1)
				fx.expectConditions("without the second check", "a", test.alone)
			})
		})
	}
}
