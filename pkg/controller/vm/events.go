// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Event actions: what the controller was doing when it recorded the event.
const (
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
	actionEvaluate  = "EvaluatePriority"
)

// event is an event for the user.
type event struct {
	kind, reason, action, note string
}

// emit records the events for the changes between two states of one virtual machine.
func (w *writer) emit(old, updated *vmv1alpha1.VirtualMachine) {
	for _, e := range transitions(old, updated) {
		w.recorder.Eventf(updated, nil, e.kind, e.reason, e.action, "%s", conditions.TruncateLine(e.note, conditions.MaxNote))
	}
}

// transitions returns the events for the changes between two states. A reconcile that changes nothing has no events,
// and a failure that lasts has one.
func transitions(old, updated *vmv1alpha1.VirtualMachine) []event {
	if hasFinalizer(old) && !hasFinalizer(updated) {
		return []event{{corev1.EventTypeNormal, "Deleted", actionDelete, deletionNote(updated)}}
	}
	if updated.DeletionTimestamp != nil && !hasFinalizer(updated) {
		return foreignDeletionEvents(old, updated)
	}
	var events []event
	normal := func(reason, note string) {
		events = append(events, event{corev1.EventTypeNormal, reason, actionReconcile, note})
	}
	if !isTrue(old, vmv1alpha1.ConditionCreated) && isTrue(updated, vmv1alpha1.ConditionCreated) {
		normal("Created", "The vSphere virtual machine is created: "+updated.Status.UniqueID)
	}
	if m := updated.Status.Machine; m != nil && (old.Status.Machine == nil || old.Status.Machine.Name != m.Name || old.Status.Machine.APIGroup != m.APIGroup) {
		normal("MachineFound", fmt.Sprintf("The virtual machine is the infrastructure of Machine %q of %s", m.Name, m.APIGroup))
	}
	if before, after := old.Status.PowerState, updated.Status.PowerState; before != after {
		switch {
		case after == vmv1alpha1.PoweredOn && before == vmv1alpha1.Suspended:
			normal("Resumed", "The virtual machine is resumed")
		case after == vmv1alpha1.PoweredOn:
			normal("PoweredOn", "The virtual machine is powered on")
		case after == vmv1alpha1.Suspended:
			normal("Suspended", "The virtual machine is suspended")
		case after == vmv1alpha1.PoweredOff && before != "":
			normal("PoweredOff", "The virtual machine is powered off")
		}
	}
	if t := updated.Status.LastRestartTime; t != nil && !t.Equal(old.Status.LastRestartTime) {
		normal("Restarted", "The virtual machine is restarted as requested")
	}
	if before := old.Spec.CurrentSnapshotName; before != "" && updated.Spec.CurrentSnapshotName == "" && isTrue(updated, vmv1alpha1.ConditionSnapshotSynced) {
		normal("Reverted", "The virtual machine and its object are reverted to snapshot "+before)
	}
	// A change to another failure is a warning, see failures.
	if before := findCondition(old, vmv1alpha1.ConditionBootstrapReady); before != nil && before.Status == metav1.ConditionFalse && isTrue(updated, vmv1alpha1.ConditionBootstrapReady) {
		normal(vmv1alpha1.ConditionBootstrapReady, "The bootstrap data is complete")
	}
	events = append(events, probeEvents(old, updated)...)
	events = append(events, questionEvents(old, updated)...)
	if c, before := findCondition(updated, vmv1alpha1.ConditionImageCacheReady), findCondition(old, vmv1alpha1.ConditionImageCacheReady); c != nil &&
		(c.Reason == vmv1alpha1.ReasonDirectInstead || c.Reason == vmv1alpha1.ReasonDeployedInstead) && (before == nil || before.Reason != c.Reason) {
		normal(c.Reason, c.Message)
	}
	events = append(events, missingEvents(old, updated)...)
	events = append(events, deletionEvents(old, updated)...)
	return append(events, failureEvents(old, updated)...)
}

// probeEvents returns an event when a guest becomes ready or is no longer ready.
func probeEvents(old, updated *vmv1alpha1.VirtualMachine) []event {
	before, after := findCondition(old, vmv1alpha1.ConditionProbeSucceeded), findCondition(updated, vmv1alpha1.ConditionProbeSucceeded)
	switch {
	case after == nil || before != nil && before.Status == after.Status && before.Reason == after.Reason:
	case after.Status == metav1.ConditionTrue:
		return []event{{corev1.EventTypeNormal, "ProbeSucceeded", actionReconcile, "The readiness probe succeeds"}}
	case after.Status == metav1.ConditionFalse && after.Reason == vmv1alpha1.ReasonNotReady:
		return []event{{corev1.EventTypeWarning, "ProbeFailed", actionReconcile, after.Message}}
	}
	return nil
}

// questionEvents returns a warning when vSphere asks a question, for example about a full datastore, and an event when
// the question is answered.
func questionEvents(old, updated *vmv1alpha1.VirtualMachine) []event {
	before, after := findCondition(old, vmv1alpha1.ConditionQuestionsAnswered), findCondition(updated, vmv1alpha1.ConditionQuestionsAnswered)
	switch {
	case after != nil && after.Status == metav1.ConditionFalse && (before == nil || before.Message != after.Message):
		return []event{{corev1.EventTypeWarning, vmv1alpha1.ReasonQuestionPending, actionReconcile, after.Message}}
	case after == nil && before != nil && before.Status == metav1.ConditionFalse:
		return []event{{corev1.EventTypeNormal, "QuestionAnswered", actionReconcile, "The question of vSphere is answered"}}
	}
	return nil
}

// missingReasons has the reasons of Created for a VM that vSphere no longer shows.
var missingReasons = []string{vmv1alpha1.ReasonMissing, vmv1alpha1.ReasonManyMissing, vmv1alpha1.ReasonCopyFound}

// missingEvents returns a warning when vSphere no longer shows an existing VM.
func missingEvents(old, updated *vmv1alpha1.VirtualMachine) []event {
	c, before := findCondition(updated, vmv1alpha1.ConditionCreated), findCondition(old, vmv1alpha1.ConditionCreated)
	if c == nil || !slices.Contains(missingReasons, c.Reason) || before != nil && before.Reason == c.Reason {
		return nil
	}
	return []event{{corev1.EventTypeWarning, c.Reason, actionReconcile, c.Message}}
}

// failureReasons has the condition reasons that need an action by a user. Other reasons go away by themselves.
var failureReasons = []string{
	vmv1alpha1.ReasonError,
	vmv1alpha1.ReasonBackOff,
	vmv1alpha1.ReasonNotFound,
	vmv1alpha1.ReasonInvalid,
	vmv1alpha1.ReasonNotAllowed,
	vmv1alpha1.ReasonUnsupported,
	vmv1alpha1.ReasonConflict,
	vmv1alpha1.ReasonInUse,
	vmv1alpha1.ReasonRequirementsNotMet,
	vmv1alpha1.ReasonNoZone,
	vmv1alpha1.ReasonNotApplied,
}

// deletionNote returns the event's note about the vSphere VM of a deleted object.
func deletionNote(vm *vmv1alpha1.VirtualMachine) string {
	_, kept := vm.Annotations[vmv1alpha1.AnnotationSkipDelete]
	_, unregistered := vm.Annotations[vmv1alpha1.AnnotationUnregister]
	switch id := vm.Status.UniqueID; {
	case kept:
		return "The object is deleted; the vSphere virtual machine is kept as annotated"
	case id == "": // a VM that was destroyed during its creation had no ID yet
		return "The object is deleted; it has no virtual machine in vSphere"
	case unregistered: // its files are kept
		return "The vSphere virtual machine is deleted or, if vCenter could not reach it, unregistered as annotated: " + id
	default:
		return "The vSphere virtual machine is deleted: " + id
	}
}

// foreignDeletionEvents returns the event of a deletion by another client, in the first reconcile that observes it.
// Deletions by this controller have their own event.
func foreignDeletionEvents(old, updated *vmv1alpha1.VirtualMachine) []event {
	if old.Status.Phase == updated.Status.Phase {
		return nil
	}
	return []event{{corev1.EventTypeWarning, "Deleted", actionDelete,
		"The object is deleted without the finalizer " + vmv1alpha1.VirtualMachineFinalizer + ": its vSphere virtual machine, if any, is kept"}}
}

// failureEvents returns a warning for every condition that became False with a new reason, or with the same reason
// because of another holder.
func failureEvents(old, updated *vmv1alpha1.VirtualMachine) []event {
	var events []event
	for _, c := range updated.Status.Conditions {
		if c.Type == vmv1alpha1.ConditionReady || !isFailure(&c) {
			continue
		}
		if c.Type == vmv1alpha1.ConditionSynchronized && isSizeFailed(updated) {
			continue // the condition of the size has more details
		}
		if isSameFailure(findCondition(old, c.Type), &c) {
			continue
		}
		action := actionReconcile
		if updated.DeletionTimestamp != nil {
			action = actionDelete
		}
		events = append(events, event{corev1.EventTypeWarning, failureReason(c.Type), action, c.Message})
	}
	return events
}

// isSameFailure reports whether a failure was already recorded. A new message alone is not a new failure. The exception
// is the reason InUse: a claim can pass from one holder to the next between two reconciles, and the user must see the
// new holder.
func isSameFailure(before, after *metav1.Condition) bool {
	if before == nil || before.Status != after.Status || before.Reason != after.Reason {
		return false
	}
	return after.Reason != vmv1alpha1.ReasonInUse || before.Message == after.Message
}

// isFailure reports whether a condition is False for a reason that is worth a warning.
func isFailure(c *metav1.Condition) bool {
	return c != nil && c.Status == metav1.ConditionFalse && slices.Contains(failureReasons, c.Reason)
}

// isSizeFailed reports whether the source of the size or the preference has failed.
func isSizeFailed(vm *vmv1alpha1.VirtualMachine) bool {
	return isFailure(findCondition(vm, vmv1alpha1.ConditionInstancetypeReady)) ||
		isFailure(findCondition(vm, vmv1alpha1.ConditionPreferenceReady)) ||
		isFailure(findCondition(vm, vmv1alpha1.ConditionClassReady))
}

// deletionEvents returns a warning when a deletion has a new failure, and an event when it is blocked by a check or
// paused.
func deletionEvents(old, updated *vmv1alpha1.VirtualMachine) []event {
	ready := findCondition(updated, vmv1alpha1.ConditionReady)
	if updated.DeletionTimestamp == nil || ready == nil || ready.Message == "" {
		return nil
	}
	if before := findCondition(old, vmv1alpha1.ConditionReady); before != nil && before.Reason == ready.Reason && before.Message == ready.Message {
		return nil
	}
	if ready.Reason == vmv1alpha1.ReasonHeldByCheck || ready.Reason == vmv1alpha1.ReasonPaused {
		return []event{{corev1.EventTypeNormal, "DeletionHeld", actionDelete, ready.Message}}
	}
	return []event{{corev1.EventTypeWarning, "DeleteFailed", actionDelete, ready.Message}}
}

// failureReason returns the reason of the event for a condition that failed.
func failureReason(conditionType string) string {
	switch conditionType {
	case vmv1alpha1.ConditionCreated:
		return "CreateFailed"
	case vmv1alpha1.ConditionSynchronized:
		return "SynchronizeFailed"
	}
	if base, ok := strings.CutSuffix(conditionType, "Ready"); ok {
		return base + "NotReady"
	}
	return strings.TrimSuffix(conditionType, "Synced") + "Failed"
}
