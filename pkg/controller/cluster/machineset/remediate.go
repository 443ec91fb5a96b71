// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// remediation is the action for a Machine that failed its health check, or has become healthy again.
type remediation struct {
	machine *machine
	// reason and message are those of the OwnerRemediated condition. If reason is empty, the condition is removed.
	reason, message string
	// mustDelete is true if the Machine must be deleted after that.
	mustDelete bool
}

// planRemediation returns the actions for the Machines of s. Machines of a MachineSet that is being rolled out are not
// deleted here, because the rollout deletes them. deployment is nil if s has none.
func planRemediation(s *set, deployment *clusterv1alpha1.MachineDeployment, machines []*machine) ([]remediation, error) {
	var out []remediation
	var unhealthy []*machine
	running := 0
	for _, m := range machines {
		switch current := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition); {
		case m.DeletionTimestamp != nil:
			if current != nil && current.Status == metav1.ConditionFalse && current.Reason == clusterv1alpha1.RemediationMachineDeletingReason {
				running++
			}
		case members.NeedsRemediation(m):
			unhealthy = append(unhealthy, m)
		case current != nil && current.Status == metav1.ConditionFalse && conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.MachineHealthCheckSucceededCondition):
			out = append(out, remediation{machine: m})
		}
	}
	slices.SortFunc(unhealthy, compareRemediation)
	if deployment != nil && deployment.Annotations[clusterv1alpha1.RevisionAnnotation] != s.Annotations[clusterv1alpha1.RevisionAnnotation] {
		for _, m := range unhealthy {
			out = append(out, remediation{machine: m, reason: clusterv1alpha1.CannotBeRemediatedReason, message: "Machine won't be remediated because it is pending removal due to rollout"})
		}
		return out, nil
	}
	most, err := maxInFlight(deployment)
	if err != nil {
		return out, err
	}
	for i, m := range unhealthy {
		if i < most-running {
			out = append(out, remediation{machine: m, reason: clusterv1alpha1.RemediationMachineDeletingReason, message: "Machine is deleting", mustDelete: true})
			continue
		}
		out = append(out, remediation{
			machine: m, reason: clusterv1alpha1.RemediationDeferredReason,
			message: fmt.Sprintf("Waiting because there are already too many remediations in progress (spec.remediation.maxInFlight is %s)", deployment.Spec.Remediation.MaxInFlight),
		})
	}
	return out, nil
}

// maxInFlight returns the maximum number of Machines that are remediated concurrently.
func maxInFlight(deployment *clusterv1alpha1.MachineDeployment) (int, error) {
	if deployment == nil || deployment.Spec.Remediation.MaxInFlight == nil {
		return math.MaxInt, nil
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(deployment.Spec.Remediation.MaxInFlight, int(ptr.Deref(deployment.Spec.Replicas, 1)), true)
	if err != nil {
		return 0, fmt.Errorf("spec.remediation.maxInFlight of MachineDeployment %s: %w", deployment.Name, err)
	}
	return most, nil
}

// compareRemediation orders Machines for remediation: first those with the remediate annotation, then the newest, which
// are the least likely to run workloads.
func compareRemediation(a, b *machine) int {
	_, askedA := a.Annotations[clusterv1alpha1.RemediateMachineAnnotation]
	_, askedB := b.Annotations[clusterv1alpha1.RemediateMachineAnnotation]
	switch {
	case askedA != askedB && askedA:
		return -1
	case askedA != askedB:
		return 1
	}
	if by := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); by != 0 {
		return by
	}
	return strings.Compare(a.Name, b.Name)
}

// withCondition returns the Machine of r with its new conditions.
func (p *reconcileRun) withCondition(r remediation) *machine {
	next := r.machine.DeepCopy()
	if r.reason == "" {
		meta.RemoveStatusCondition(&next.Status.Conditions, clusterv1alpha1.MachineOwnerRemediatedCondition)
		return next
	}
	conditions.Set(&next.Status.Conditions, p.now(), metav1.Condition{
		Type: clusterv1alpha1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse,
		Reason: r.reason, Message: r.message, ObservedGeneration: next.Generation,
	})
	return next
}
