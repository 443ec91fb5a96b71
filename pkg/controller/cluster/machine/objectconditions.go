// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
)

// mirrored is a condition that tells the Ready of an object that the Machine refers to.
type mirrored struct {
	condition string
	// kind is that of the object, field the one by which it says that it is done, and done
	// what is known of that.
	kind, field string
	done        bool
	// whileNeeded is added to what is said of an object that is gone although it is needed.
	whileNeeded bool
}

// bootstrapCondition is BootstrapConfigReady.
func (s *scope) bootstrapCondition() metav1.Condition {
	m := s.machine
	if !m.Spec.Bootstrap.ConfigRef.IsDefined() {
		return metav1.Condition{
			Type: clusterv1alpha1.MachineBootstrapConfigReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.DataSecretProvidedReason,
		}
	}
	return mirrored{
		condition: clusterv1alpha1.MachineBootstrapConfigReadyCondition, kind: m.Spec.Bootstrap.ConfigRef.Kind,
		field: "dataSecretCreated", done: isTrue(m.Status.Initialization.BootstrapDataSecretCreated),
	}.of(&s.bootstrap, s.isDeleting())
}

// infrastructureCondition is InfrastructureReady.
func (s *scope) infrastructureCondition() metav1.Condition {
	return mirrored{
		condition: clusterv1alpha1.InfrastructureReadyCondition, kind: s.machine.Spec.InfrastructureRef.Kind,
		field: "provisioned", done: isProvisioned(s.machine), whileNeeded: true,
	}.of(&s.infra, s.isDeleting())
}

func (r mirrored) of(e *external, deleting bool) metav1.Condition {
	c := metav1.Condition{Type: r.condition, Status: metav1.ConditionFalse}
	switch {
	case e.refused != nil && e.foreign:
		c.Reason, c.Message = clusterv1alpha1.ObjectControlledByAnotherReason, e.refused.Error()
	case e.refused != nil:
		c.Reason, c.Message = conditions.ReasonTooManyWrites, e.refused.Error()
	case e.object != nil:
		return r.mirror(e)
	case !e.gone:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, "Please check controller logs for errors"
	case r.done && deleting:
		c.Reason, c.Message = clusterv1alpha1.ObjectDeletedReason, r.kind+" has been deleted"
	case r.done && r.whileNeeded:
		c.Reason, c.Message = clusterv1alpha1.ObjectDeletedReason, r.kind+" has been deleted while the Machine still exists"
	default:
		c.Reason, c.Message = clusterv1alpha1.ObjectDoesNotExistReason, r.kind+" does not exist"
	}
	return c
}

// mirror returns a condition that is False if the provider reports a final failure of the object.
// Otherwise it copies the condition Ready of the object, with its time, or computes one if the
// object has none.
func (r mirrored) mirror(e *external) metav1.Condition {
	c := metav1.Condition{Type: r.condition}
	ready, err := contract.Ready(e.object)
	switch {
	case e.failureReason != "" || e.failureMessage != "":
		c.Status, c.Reason = metav1.ConditionFalse, cmp.Or(e.failureReason, clusterv1alpha1.NotReadyReason)
		c.Message = fmt.Sprintf("%s reports a failure: %s", r.kind, cmp.Or(e.failureMessage, e.failureReason))
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
