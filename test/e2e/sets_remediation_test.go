// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/test/testenv"
)

// healthCheck is a MachineHealthCheck for Nodes with an unknown Ready condition.
func healthCheck(remediation string) string {
	return `
apiVersion: cluster.slipway.dev/v1alpha1
kind: MachineHealthCheck
metadata: {name: workers}
spec:
  clusterName: c
  selector: {matchLabels: {pool: workers}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 1}]}
  ` + remediation
}

// silence sets the Ready condition of the Nodes of Machines to Unknown.
func (s *setScene) silence(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Must(s.Work.SetReady(s.Context(), s.Node(name), corev1.ConditionUnknown))
	}
}

func TestMachineHealthCheck_ReplacesNoMoreMachinesThanMaxInFlight(t *testing.T) {
	t.Parallel()
	s := newSetScene(t)
	s.Put(testenv.Workers(3, "remediation: {maxInFlight: 1}"))
	s.Available(3)
	all := s.Machines()
	sick := all[:2]
	for _, name := range sick {
		s.Annotate("machines.cluster.slipway.dev/"+name, preTerminate+"=") // It exists while it is deleted.
	}
	s.Put(healthCheck(""))
	s.Wants("machinehealthcheck/workers", ".status.currentHealthy", "3")
	s.silence(sick...)

	t.Log("one goes, the other waits for it")
	going, waiting := "", ""
	s.Eventually("one of both is deleted and one deferred", func() error {
		going, waiting = "", ""
		list, err := s.API.ClusterV1alpha1().Machines(s.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			m := &list.Items[i]
			c := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition)
			switch {
			case m.DeletionTimestamp != nil:
				going += m.Name
			case c != nil && c.Reason == clusterv1alpha1.RemediationDeferredReason:
				waiting += m.Name
			}
		}
		if !slices.Contains(sick, going) || !slices.Contains(sick, waiting) {
			return fmt.Errorf("%q goes, %q waits\n%s", going, waiting, s.Overview())
		}
		return nil
	})
	if text := s.Get("machines.cluster.slipway.dev/"+waiting, `.status.conditions[?(@.type=="OwnerRemediated")].message`); text != "Waiting because there are already too many remediations in progress (spec.remediation.maxInFlight is 1)" {
		t.Errorf("OwnerRemediated of the waiting Machine is %q", text)
	}

	t.Log("the other one is deleted next")
	s.Annotate("machines.cluster.slipway.dev/"+going, preTerminate+"-")
	s.Eventually("the other one is deleted", func() error {
		m, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Get(t.Context(), waiting, metav1.GetOptions{})
		if err == nil && m.DeletionTimestamp == nil {
			err = errors.New(s.Overview())
		}
		return err
	})
	s.Annotate("machines.cluster.slipway.dev/"+waiting, preTerminate+"-")
	s.Available(3)
	if got := s.Machines(); !slices.Contains(got, all[2]) || slices.Contains(got, sick[0]) || slices.Contains(got, sick[1]) {
		t.Errorf("Machines are %s, want %s and two others than %s", got, all[2], sick)
	}

	s.replacedBySomebodyElse()
}

func (s *setScene) replacedBySomebodyElse() {
	s.Log("a remediation template: a request is created for an external controller, and no Machine is deleted")
	s.Put(`
apiVersion: remediation.example.org/v1
kind: ExampleRemediationTemplate
metadata: {name: reboot}
spec: {template: {spec: {how: hard}}}
`)
	s.Put(healthCheck("remediation: {templateRef: {apiVersion: remediation.example.org/v1, kind: ExampleRemediationTemplate, name: reboot}}"))
	all := s.Machines()
	sick := all[0]
	s.silence(sick)
	s.Wants("machines.cluster.slipway.dev/"+sick, `.status.conditions[?(@.type=="ExternallyRemediated")].reason`, "WaitingForRemediation")
	request := "exampleremediation/" + sick
	if got := s.Get(request, ".spec.how") + " " + s.Get(request, ".metadata.ownerReferences[0].kind") + " " + s.Get(request, ".metadata.ownerReferences[0].name"); got != "hard Machine "+sick {
		s.Errorf("the request has %q, want the template's content and the Machine as owner", got)
	}
	s.statuses("whose Node is silent", "machines.cluster.slipway.dev/"+sick, "InProgress")

	s.Log("when the Machine is well again the request is taken back")
	s.Must(s.Work.SetReady(s.Context(), s.Node(sick), corev1.ConditionTrue))
	s.Kubectl("wait", "--for=delete", request, "--timeout=120s")
	s.Wants("machines.cluster.slipway.dev/"+sick, `.status.conditions[?(@.type=="HealthCheckSucceeded")].status`, "True")
	s.Wants("machines.cluster.slipway.dev/"+sick, `.status.conditions[?(@.type=="ExternallyRemediated")].reason`, "")
	if got := s.Machines(); !slices.Equal(got, all) {
		s.Errorf("Machines are %s, want %s as before", got, all)
	}
}
