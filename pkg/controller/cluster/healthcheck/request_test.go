// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// The template creates objects of the same kind as the Machine's infrastructure, and with its name.
func TestHealthCheck_DoesNotDeleteObjectsThatAreNotRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := theCheck()
		c.Spec.Remediation.TemplateRef = clusterv1alpha1.MachineHealthCheckRemediationTemplateReference{APIVersion: "fix.dev/v1", Kind: "FixTemplate", Name: "reboot"}
		fx := run(t, theCluster(), c)
		m := theMachine("a", func(m *machine) { m.UID = "a" })
		infra := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fix.dev/v1", "kind": "Fix"}}
		infra.SetNamespace("dev")
		infra.SetName("a")
		infra.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(m, clusterv1alpha1.SchemeGroupVersion.WithKind("Machine"))})
		fixes := fx.fixes.Resource(requests).Namespace("dev")
		if _, err := fixes.Create(context.Background(), infra, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := fx.api.ClusterV1alpha1().Machines("dev").Create(context.Background(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		fx.until(6)
		fx.expectConditions("unhealthy", "a", "False NodeDeleted, False RemediationRequestCreationFailed")
		fx.updateNode("a", node("a", corev1.ConditionTrue, 4))
		fx.expectConditions("healthy again", "a", "True HealthCheckSucceeded")
		if _, err := fixes.Get(context.Background(), "a", metav1.GetOptions{}); err != nil {
			t.Errorf("the infrastructure: %v", err)
		}
	})
}
