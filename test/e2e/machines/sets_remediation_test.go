// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// healthCheck is a MachineHealthCheck for Nodes that are silent.
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

// silence lets the kubelets of Machines be silent.
func (s *setScene) silence(names ...string) {
	s.Helper()
	for _, name := range names {
		s.Must(pair.Work.SetReady(s.Context(), s.Node(name), corev1.ConditionUnknown))
	}
}

func TestNoMoreMachinesAreReplacedAtOnceThanTheDeploymentSays(t *testing.T) {
	s := newSetScene(t)
	s.apply(workers(3, "remediation: {maxInFlight: 1}"))
	s.available(3)
	all := s.machines()
	sick := all[:2]
	for _, name := range sick {
		s.u.Annotate("machine/"+name, preTerminate+"=") // It stays while it goes.
	}
	s.apply(healthCheck(""))
	s.wants("machinehealthcheck/workers", ".status.currentHealthy", "3")
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
			return fmt.Errorf("%q goes, %q waits\n%s", going, waiting, s.picture())
		}
		return nil
	})
	if text := s.get("machine/"+waiting, `.status.conditions[?(@.type=="OwnerRemediated")].message`); text != "Waiting because there are already too many remediations in progress (spec.remediation.maxInFlight is 1)" {
		t.Errorf("OwnerRemediated of the waiting Machine is %q", text)
	}

	t.Log("the other one is deleted next")
	s.u.Annotate("machine/"+going, preTerminate+"-")
	s.Eventually("the other one is deleted", func() error {
		m, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Get(t.Context(), waiting, metav1.GetOptions{})
		if err == nil && m.DeletionTimestamp == nil {
			err = errors.New(s.picture())
		}
		return err
	})
	s.u.Annotate("machine/"+waiting, preTerminate+"-")
	s.available(3)
	if got := s.machines(); !slices.Contains(got, all[2]) || slices.Contains(got, sick[0]) || slices.Contains(got, sick[1]) {
		t.Errorf("Machines are %s, want %s and two others than %s", got, all[2], sick)
	}

	s.replacedBySomebodyElse()
}

func (s *setScene) replacedBySomebodyElse() {
	s.Log("a remediation template: a request is created for an external controller, and no Machine is deleted")
	s.apply(`
apiVersion: remediation.example.org/v1
kind: ExampleRemediationTemplate
metadata: {name: reboot}
spec: {template: {spec: {how: hard}}}
`)
	s.apply(healthCheck("remediation: {templateRef: {apiVersion: remediation.example.org/v1, kind: ExampleRemediationTemplate, name: reboot}}"))
	all := s.machines()
	sick := all[0]
	s.silence(sick)
	s.wants("machine/"+sick, `.status.conditions[?(@.type=="ExternallyRemediated")].reason`, "WaitingForRemediation")
	request := "exampleremediation/" + sick
	if got := s.get(request, ".spec.how") + " " + s.get(request, ".metadata.ownerReferences[0].kind") + " " + s.get(request, ".metadata.ownerReferences[0].name"); got != "hard Machine "+sick {
		s.Errorf("the request has %q, want the template's content and the Machine as owner", got)
	}
	s.statuses("whose Node is silent", "machine/"+sick, "InProgress")

	s.Log("when the Machine is well again the request is taken back")
	s.Must(pair.Work.SetReady(s.Context(), s.Node(sick), corev1.ConditionTrue))
	s.kubectl("wait", "--for=delete", request, "--timeout=120s")
	s.wants("machine/"+sick, `.status.conditions[?(@.type=="HealthCheckSucceeded")].status`, "True")
	s.wants("machine/"+sick, `.status.conditions[?(@.type=="ExternallyRemediated")].reason`, "")
	if got := s.machines(); !slices.Equal(got, all) {
		s.Errorf("Machines are %s, want %s as before", got, all)
	}
}
