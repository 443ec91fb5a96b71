// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// mirroredCondition is a condition that mirrors the Ready condition of a referenced object.
type mirroredCondition struct {
	condition string
	// kind is the object's kind, field its field of status.initialization, and done the last known value of field.
	kind, field string
	done        bool
	// whileNeeded adds to the message that the object was deleted while the Machine still exists.
	whileNeeded bool
}

// BootstrapCondition returns the BootstrapConfigReady condition.
func BootstrapCondition(s *step.State) metav1.Condition {
	m := s.Machine
	if !m.Spec.Bootstrap.ConfigRef.IsDefined() {
		return metav1.Condition{
			Type: clusterv1alpha1.MachineBootstrapConfigReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.DataSecretProvidedReason,
		}
	}
	return mirroredCondition{
		condition: clusterv1alpha1.MachineBootstrapConfigReadyCondition, kind: m.Spec.Bootstrap.ConfigRef.Kind,
		field: "dataSecretCreated", done: step.IsTrue(m.Status.Initialization.BootstrapDataSecretCreated),
	}.compute(&s.Bootstrap, s.IsDeleting())
}

// InfrastructureCondition returns the InfrastructureReady condition.
func InfrastructureCondition(s *step.State) metav1.Condition {
	return mirroredCondition{
		condition: clusterv1alpha1.InfrastructureReadyCondition, kind: s.Machine.Spec.InfrastructureRef.Kind,
		field: "provisioned", done: step.IsProvisioned(s.Machine), whileNeeded: true,
	}.compute(&s.Infra, s.IsDeleting())
}

func (r mirroredCondition) compute(e *step.External, deleting bool) metav1.Condition {
	c := metav1.Condition{Type: r.condition, Status: metav1.ConditionFalse}
	switch {
	case e.RejectedErr != nil && e.HasOtherController:
		c.Reason, c.Message = clusterv1alpha1.ObjectControlledByAnotherReason, e.RejectedErr.Error()
	case e.RejectedErr != nil:
		c.Reason, c.Message = conditions.ReasonTooManyWrites, e.RejectedErr.Error()
	case e.Object != nil:
		return r.mirror(e)
	case e.Err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, fmt.Sprintf("cannot read %s: %v", r.kind, e.Err)
	case !e.NotFound:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, "the Machine has no reference to an object"
	case r.done && deleting:
		c.Reason, c.Message = clusterv1alpha1.ObjectDeletedReason, r.kind+" has been deleted"
	case r.done && r.whileNeeded:
		c.Reason, c.Message = clusterv1alpha1.ObjectDeletedReason, r.kind+" has been deleted while the Machine still exists"
	default:
		c.Reason, c.Message = clusterv1alpha1.ObjectDoesNotExistReason, r.kind+" does not exist"
	}
	return c
}

// mirror returns False if the provider reports a terminal failure. Otherwise it copies the Ready condition of the
// object with its time. If the object has none, it uses field.
func (r mirroredCondition) mirror(e *step.External) metav1.Condition {
	c := metav1.Condition{Type: r.condition}
	ready, err := contract.ReadyCondition(e.Object)
	switch {
	case e.HasFailed():
		c.Status, c.Reason = metav1.ConditionFalse, cmp.Or(e.FailureReason, clusterv1alpha1.NotReadyReason)
		c.Message = fmt.Sprintf("%s reports a failure: %s", r.kind, cmp.Or(e.FailureMessage, e.FailureReason))
	case err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, clusterv1alpha1.InvalidConditionReportedReason, err.Error()
	case ready != nil:
		c.Status, c.Reason, c.Message, c.LastTransitionTime = ready.Status, ready.Reason, ready.Message, ready.LastTransitionTime
		if c.Reason == "" {
			c.Reason = map[metav1.ConditionStatus]string{
				metav1.ConditionTrue: clusterv1alpha1.ReadyReason, metav1.ConditionFalse: clusterv1alpha1.NotReadyReason,
				metav1.ConditionUnknown: clusterv1alpha1.ReadyUnknownReason,
			}[c.Status]
		}
	case r.done:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.ReadyReason
	default:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.NotReadyReason
		c.Message = fmt.Sprintf("%s status.initialization.%s is false", r.kind, r.field)
	}
	return c
}
