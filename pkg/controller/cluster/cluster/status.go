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

// external is what is known of an object that a Cluster refers to.
type external struct {
	ref clusterv1alpha1.ContractVersionedObjectReference
	// object is nil if it does not exist, if err is why that is not known, or if it is refused.
	object *unstructured.Unstructured
	kind   contract.Kind
	err    error
	// reason and message are why the Cluster does not use or change the object.
	reason, message string
}

func (e *external) refuse(reason, format string, args ...any) {
	e.reason, e.message = reason, fmt.Sprintf(format, args...)
}

func (e *external) defined() bool { return e.ref.IsDefined() }
func (e *external) gone() bool    { return e.object == nil && e.err == nil }
func (e *external) missing() bool { return e.defined() && e.gone() }

// facts are what the status of a Cluster is computed of.
type facts struct {
	now                          time.Time
	paused                       metav1.Condition
	infrastructure, controlPlane external
	// connected says why there is no connection, nil if there is; success is when the Cluster
	// has last answered, failures how often it has not since, grace how long it may be silent.
	connected error
	success   time.Time
	failures  int
	grace     time.Duration
	// deleting is at what step a deletion is, left what it waits for.
	deleting, left string
}

// decide fills the status of c, and says when it may be another one although nobody changes
// anything, zero for never. Its error is about what others wrote into their objects.
func decide(c *cluster, f *facts) (until time.Time, err error) {
	set := func(is metav1.Condition) {
		is.ObservedGeneration = c.Generation
		conditions.Set(&c.Status.Conditions, f.now, is)
	}
	set(f.paused)
	if f.paused.Status == metav1.ConditionTrue {
		if c.DeletionTimestamp != nil {
			set(members.DeletingWhilePaused(f.paused))
		}
		return until, nil
	}
	if err = initialized(c, f); err == nil {
		c.Status.ObservedGeneration = c.Generation
	}
	infrastructure := f.infrastructureReady(c)
	set(infrastructure)
	set(controlPlaneInitialized(c, f))
	probe, until := f.probe(c)
	set(probe)
	set(f.deletingCondition(c))
	sum := available(c)
	set(sum)
	var reconciling *metav1.Condition
	if sum.Status != metav1.ConditionTrue && c.DeletionTimestamp == nil {
		reconciling = &sum
	}
	conditions.SetBecause(&c.Status.Conditions, f.now, clusterv1alpha1.ReconcilingCondition, c.Generation, reconciling)
	c.Status.Phase = phase(c)
	return until, err
}

// initialized takes over what the objects tell of themselves. What was reached once is never
// taken back.
func initialized(c *cluster, f *facts) error {
	reached := &c.Status.Initialization
	switch i := &f.infrastructure; {
	case !i.defined():
		reached.InfrastructureProvisioned = ptr.To(true)
	case i.object != nil:
		provisioned, err := contract.InfraProvisioned(i.kind, i.object)
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
	case !p.defined():
		if f.connected == nil {
			reached.ControlPlaneInitialized = ptr.To(true)
		}
	case p.object != nil:
		is, err := contract.ControlPlaneInitialized(p.kind, p.object)
		if err != nil {
			return err
		}
		if is {
			reached.ControlPlaneInitialized = ptr.To(true)
		}
	}
	return nil
}

// infrastructureReady is the Ready of the infrastructure, or what can be said without it.
func (f *facts) infrastructureReady(c *cluster) metav1.Condition {
	i, provisioned := &f.infrastructure, ptr.Deref(c.Status.Initialization.InfrastructureProvisioned, false)
	is := metav1.Condition{Type: clusterv1alpha1.InfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotReadyReason}
	switch {
	case !i.defined():
		is.Status, is.Reason = metav1.ConditionTrue, clusterv1alpha1.ReadyReason
	case i.reason != "":
		is.Reason, is.Message = i.reason, i.message
	case i.err != nil:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, i.err.Error()
	case i.object == nil && provisioned:
		is.Reason, is.Message = clusterv1alpha1.ObjectDeletedReason, i.ref.Kind+" has been deleted"
		if c.DeletionTimestamp == nil {
			is.Message += " while the Cluster still exists"
		}
	case i.object == nil:
		is.Reason, is.Message = clusterv1alpha1.ObjectDoesNotExistReason, i.ref.Kind+" does not exist"
	default:
		f.mirror(&is, provisioned)
	}
	return is
}

func (f *facts) mirror(is *metav1.Condition, provisioned bool) {
	ready, err := contract.Ready(f.infrastructure.object)
	switch {
	case err != nil:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, clusterv1alpha1.InvalidConditionReportedReason, err.Error()
	case ready != nil:
		is.Status, is.Reason, is.Message = ready.Status, ready.Reason, ready.Message
		if is.Reason == "" && is.Status == metav1.ConditionTrue {
			is.Reason = clusterv1alpha1.ReadyReason
		} else if is.Reason == "" {
			is.Reason = clusterv1alpha1.NotReadyReason
		}
	case provisioned:
		is.Status, is.Reason = metav1.ConditionTrue, clusterv1alpha1.ReadyReason
	default:
		is.Message = f.infrastructure.ref.Kind + " status.initialization.provisioned is false"
	}
}

func controlPlaneInitialized(c *cluster, f *facts) metav1.Condition {
	is := metav1.Condition{Type: clusterv1alpha1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.InitializedReason}
	if ptr.Deref(c.Status.Initialization.ControlPlaneInitialized, false) {
		return is
	}
	is.Status, is.Reason = metav1.ConditionFalse, clusterv1alpha1.NotInitializedReason
	switch p := &f.controlPlane; {
	case !p.defined():
		is.Message = "Waiting for the API of the cluster to answer"
		if f.connected != nil {
			is.Message += ": " + f.connected.Error()
		}
	case p.reason != "":
		is.Reason, is.Message = p.reason, p.message
	case p.err != nil:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, clusterv1alpha1.InternalErrorReason, p.err.Error()
	case p.object == nil:
		is.Message = p.ref.Kind + " does not exist"
	default:
		is.Message = "Waiting for " + p.ref.Kind + " to be initialized"
	}
	return is
}

// attempts is how often a connection is tried before it is called failed.
const attempts = 5

// probe says whether the API of the cluster answers, and when that has to be said again.
func (f *facts) probe(c *cluster) (is metav1.Condition, until time.Time) {
	is = metav1.Condition{Type: clusterv1alpha1.ClusterRemoteConnectionProbeCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.ProbeFailedReason}
	was := conditions.Find(c.Status.Conditions, is.Type)
	silent := f.success.Add(f.grace)
	switch {
	case f.success.IsZero() && f.failures < attempts && was != nil:
		return *was, until // This process has only just begun to ask.
	case f.success.IsZero() && f.failures < attempts:
		is.Message = "Remote connection not established yet"
	case f.success.IsZero():
		is.Message = "Remote connection probe failed"
	case f.now.Before(silent):
		is.Status, is.Reason = metav1.ConditionTrue, clusterv1alpha1.ProbeSucceededReason
		if f.connected != nil {
			until = silent
		}
	default:
		is.Message = "Remote connection probe failed, probe last succeeded at " + f.success.UTC().Format(time.RFC3339)
	}
	return is, until
}

func (f *facts) deletingCondition(c *cluster) metav1.Condition {
	is := metav1.Condition{Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotDeletingReason}
	if c.DeletionTimestamp != nil {
		is.Status, is.Reason, is.Message = metav1.ConditionTrue, f.deleting, f.left
	}
	return is
}

// available sums up.
func available(c *cluster) metav1.Condition {
	is := metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.AvailableReason}
	var why []string
	if c.DeletionTimestamp != nil {
		why = append(why, "Deletion in progress")
	}
	for _, kind := range []string{
		clusterv1alpha1.InfrastructureReadyCondition, clusterv1alpha1.ClusterControlPlaneInitializedCondition, clusterv1alpha1.ClusterRemoteConnectionProbeCondition,
	} {
		if of := conditions.Find(c.Status.Conditions, kind); of != nil && of.Status != metav1.ConditionTrue {
			why = append(why, strings.TrimSuffix(fmt.Sprintf("%s: %s", kind, of.Message), ": "))
		}
	}
	if len(why) > 0 {
		is.Status, is.Reason, is.Message = metav1.ConditionFalse, clusterv1alpha1.NotAvailableReason, strings.Join(why, "; ")
	}
	return is
}

func phase(c *cluster) clusterv1alpha1.ClusterPhase {
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
