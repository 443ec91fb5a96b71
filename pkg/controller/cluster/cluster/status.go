// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// externalObject is the observed state of an object that a Cluster refers to.
type externalObject struct {
	ref clusterv1alpha1.ContractVersionedObjectReference
	// object is nil if the object does not exist, could not be read (err), or must not be used (reason).
	object *unstructured.Unstructured
	kind   contract.Kind
	err    error
	// reason and message explain why the Cluster does not use or change the object.
	reason, message string
}

func (e *externalObject) reject(reason, format string, args ...any) {
	e.reason, e.message = reason, fmt.Sprintf(format, args...)
}

func (e *externalObject) isDefined() bool  { return e.ref.IsDefined() }
func (e *externalObject) isNotFound() bool { return e.object == nil && e.err == nil }
func (e *externalObject) isMissing() bool  { return e.isDefined() && e.isNotFound() }

// observedState is the state from which the status of a Cluster is computed.
type observedState struct {
	now                          time.Time
	paused                       metav1.Condition
	infrastructure, controlPlane externalObject
	// connectionErr is nil if the Cluster is connected, and otherwise the reason why not. lastSuccess is the time of
	// the last successful probe, failures the number of failures since then, and grace how long the Cluster may not
	// answer.
	connectionErr error
	lastSuccess   time.Time
	failures      int
	grace         time.Duration
	// deletingReason and deletingMessage are the reason and the message of the Deleting condition.
	deletingReason, deletingMessage string
}

// computeStatus computes the status of c. until is the time at which the status may change without an event, or zero.
// An error means that a referenced object has invalid fields.
func computeStatus(c *cluster, f *observedState) (until time.Time, err error) {
	set := func(is metav1.Condition) {
		is.ObservedGeneration = c.Generation
		conditions.Set(&c.Status.Conditions, f.now, is)
	}
	set(f.paused)
	if f.paused.Status == metav1.ConditionTrue {
		if c.DeletionTimestamp != nil {
			set(members.PausedDeletionCondition(f.paused))
		}
		return until, nil
	}
	if err = updateInitialization(c, f); err == nil {
		c.Status.ObservedGeneration = c.Generation
	}
	infrastructure := f.infrastructureCondition(c)
	set(infrastructure)
	set(controlPlaneCondition(c, f))
	probe, until := f.probeCondition(c)
	set(probe)
	set(f.deletingCondition(c))
	sum := availableCondition(c)
	set(sum)
	var reconciling *metav1.Condition
	if sum.Status != metav1.ConditionTrue && c.DeletionTimestamp == nil {
		reconciling = &sum
	}
	conditions.SetBecause(&c.Status.Conditions, f.now, clusterv1alpha1.ReconcilingCondition, c.Generation, reconciling)
	c.Status.Phase = phaseOf(c)
	return until, err
}

// updateInitialization copies the initialization fields of the referenced objects. It only sets fields, and never
// resets them.
func updateInitialization(c *cluster, f *observedState) error {
	reached := &c.Status.Initialization
	switch i := &f.infrastructure; {
	case !i.isDefined():
		reached.InfrastructureProvisioned = ptr.To(true)
	case i.object != nil:
		provisioned, err := contract.IsInfraProvisioned(i.kind, i.object)
		if err != nil {
			return err
		}
		if provisioned {
			reached.InfrastructureProvisioned = ptr.To(true)
		}
		domains, err := contract.FailureDomains(i.object)
		if err != nil {
			return err
		}
		if ptr.Deref(reached.InfrastructureProvisioned, false) {
			c.Status.FailureDomains = domains
		}
	}
	switch p := &f.controlPlane; {
	case !p.isDefined():
		if f.connectionErr == nil {
			reached.ControlPlaneInitialized = ptr.To(true)
		}
	case p.object != nil:
		isInitialized, err := contract.IsControlPlaneInitialized(p.kind, p.object)
		if err != nil {
			return err
		}
		if isInitialized {
			reached.ControlPlaneInitialized = ptr.To(true)
		}
	}
	return nil
}

// infrastructureCondition returns the InfrastructureReady condition.
func (f *observedState) infrastructureCondition(c *cluster) metav1.Condition {
	i, provisioned := &f.infrastructure, ptr.Deref(c.Status.Initialization.InfrastructureProvisioned, false)
	condition := metav1.Condition{Type: clusterv1alpha1.InfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotReadyReason}
	switch {
	case !i.isDefined():
		condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1alpha1.ReadyReason
	case i.reason != "":
		condition.Reason, condition.Message = i.reason, i.message
	case i.err != nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, i.err.Error()
	case i.object == nil && provisioned:
		condition.Reason, condition.Message = clusterv1alpha1.ObjectDeletedReason, i.ref.Kind+" has been deleted"
		if c.DeletionTimestamp == nil {
			condition.Message += " while the Cluster still exists"
		}
	case i.object == nil:
		condition.Reason, condition.Message = clusterv1alpha1.ObjectDoesNotExistReason, i.ref.Kind+" does not exist"
	default:
		f.mirrorReady(&condition, provisioned)
	}
	return condition
}

func (f *observedState) mirrorReady(condition *metav1.Condition, provisioned bool) {
	ready, err := contract.ReadyCondition(f.infrastructure.object)
	switch {
	case err != nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, clusterv1alpha1.InvalidConditionReportedReason, err.Error()
	case ready != nil:
		condition.Status, condition.Reason, condition.Message = ready.Status, ready.Reason, ready.Message
		if condition.Reason == "" && condition.Status == metav1.ConditionTrue {
			condition.Reason = clusterv1alpha1.ReadyReason
		} else if condition.Reason == "" {
			condition.Reason = clusterv1alpha1.NotReadyReason
		}
	case provisioned:
		condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1alpha1.ReadyReason
	default:
		condition.Message = f.infrastructure.ref.Kind + " status.initialization.provisioned is false"
	}
}

func controlPlaneCondition(c *cluster, f *observedState) metav1.Condition {
	condition := metav1.Condition{Type: clusterv1alpha1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.InitializedReason}
	if ptr.Deref(c.Status.Initialization.ControlPlaneInitialized, false) {
		return condition
	}
	condition.Status, condition.Reason = metav1.ConditionFalse, clusterv1alpha1.NotInitializedReason
	switch p := &f.controlPlane; {
	case !p.isDefined():
		condition.Message = "Waiting for the API of the cluster to answer"
		if f.connectionErr != nil {
			condition.Message += ": " + f.connectionErr.Error()
		}
	case p.reason != "":
		condition.Reason, condition.Message = p.reason, p.message
	case p.err != nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, p.err.Error()
	case p.object == nil:
		condition.Message = p.ref.Kind + " does not exist"
	default:
		condition.Message = "Waiting for " + p.ref.Kind + " to be initialized"
	}
	return condition
}

// maxAttempts is the number of failed connection attempts after which the probe condition becomes False.
const maxAttempts = 5

// probeCondition returns the condition RemoteConnectionProbe and the time at which it must be computed again.
func (f *observedState) probeCondition(c *cluster) (condition metav1.Condition, until time.Time) {
	condition = metav1.Condition{Type: clusterv1alpha1.ClusterRemoteConnectionProbeCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.ProbeFailedReason}
	previous := conditions.Find(c.Status.Conditions, condition.Type)
	silent := f.lastSuccess.Add(f.grace)
	switch {
	case f.lastSuccess.IsZero() && f.failures < maxAttempts && previous != nil:
		return *previous, until // This process has only just started to connect.
	case f.lastSuccess.IsZero() && f.failures < maxAttempts:
		condition.Message = "Remote connection not established yet"
	case f.lastSuccess.IsZero():
		condition.Message = "Remote connection probe failed"
	case f.now.Before(silent):
		condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1alpha1.ProbeSucceededReason
		if f.connectionErr != nil {
			until = silent
		}
	default:
		condition.Message = "Remote connection probe failed, probe last succeeded at " + f.lastSuccess.UTC().Format(time.RFC3339)
	}
	return condition, until
}

func (f *observedState) deletingCondition(c *cluster) metav1.Condition {
	condition := metav1.Condition{Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotDeletingReason}
	if c.DeletionTimestamp != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, f.deletingReason, f.deletingMessage
	}
	return condition
}

// availableCondition returns the Available condition, which summarizes other conditions.
func availableCondition(c *cluster) metav1.Condition {
	condition := metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.AvailableReason}
	var reasons []string
	if c.DeletionTimestamp != nil {
		reasons = append(reasons, "Deletion in progress")
	}
	for _, kind := range []string{
		clusterv1alpha1.InfrastructureReadyCondition, clusterv1alpha1.ClusterControlPlaneInitializedCondition, clusterv1alpha1.ClusterRemoteConnectionProbeCondition,
	} {
		if of := conditions.Find(c.Status.Conditions, kind); of != nil && of.Status != metav1.ConditionTrue {
			reasons = append(reasons, strings.TrimSuffix(fmt.Sprintf("%s: %s", kind, of.Message), ": "))
		}
	}
	if len(reasons) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, clusterv1alpha1.NotAvailableReason, strings.Join(reasons, "; ")
	}
	return condition
}

func phaseOf(c *cluster) clusterv1alpha1.ClusterPhase {
	switch {
	case c.DeletionTimestamp != nil:
		return clusterv1alpha1.ClusterPhaseDeleting
	case ptr.Deref(c.Status.Initialization.InfrastructureProvisioned, false) && !c.Spec.ControlPlaneEndpoint.IsZero():
		return clusterv1alpha1.ClusterPhaseProvisioned
	case c.Spec.InfrastructureRef.IsDefined() || c.Spec.ControlPlaneRef.IsDefined():
		return clusterv1alpha1.ClusterPhaseProvisioning
	}
	return clusterv1alpha1.ClusterPhasePending
}
