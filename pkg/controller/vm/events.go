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

// Event actions: what the controller did when it reported.
const (
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
	actionEvaluate  = "EvaluatePriority"
)

// event is one thing worth telling the user.
type event struct {
	kind, reason, action, note string
}

// emit reports what changed between two states of one virtual machine.
func (w *writer) emit(old, now *vmv1alpha1.VirtualMachine) {
	for _, e := range transitions(old, now) {
		w.recorder.Eventf(now, nil, e.kind, e.reason, e.action, "%s", conditions.Line(e.note, conditions.MaxNote))
	}
}

// transitions returns the events between two states. Only changes count, so a pass
// that finds all as it was reports nothing, and a failure that lasts is reported
// once.
func transitions(old, now *vmv1alpha1.VirtualMachine) []event {
	if hasFinalizer(old) && !hasFinalizer(now) {
		return []event{{corev1.EventTypeNormal, "Deleted", actionDelete, deletion(now)}}
	}
	if now.DeletionTimestamp != nil && !hasFinalizer(now) {
		return withoutFinalizer(old, now)
	}
	var events []event
	normal := func(reason, note string) {
		events = append(events, event{corev1.EventTypeNormal, reason, actionReconcile, note})
	}
	if !isTrue(old, vmv1alpha1.ConditionCreated) && isTrue(now, vmv1alpha1.ConditionCreated) {
		normal("Created", "The vSphere virtual machine is created: "+now.Status.UniqueID)
	}
	if m := now.Status.Machine; m != nil && (old.Status.Machine == nil || old.Status.Machine.Name != m.Name || old.Status.Machine.APIGroup != m.APIGroup) {
		normal("MachineFound", fmt.Sprintf("The virtual machine is the infrastructure of Machine %q of %s", m.Name, m.APIGroup))
	}
	if was, is := old.Status.PowerState, now.Status.PowerState; was != is {
		switch {
		case is == vmv1alpha1.PoweredOn && was == vmv1alpha1.Suspended:
			normal("Resumed", "The virtual machine is resumed")
		case is == vmv1alpha1.PoweredOn:
			normal("PoweredOn", "The virtual machine is powered on")
		case is == vmv1alpha1.Suspended:
			normal("Suspended", "The virtual machine is suspended")
		case is == vmv1alpha1.PoweredOff && was != "":
			normal("PoweredOff", "The virtual machine is powered off")
		}
	}
	if t := now.Status.LastRestartTime; t != nil && !t.Equal(old.Status.LastRestartTime) {
		normal("Restarted", "The virtual machine is restarted as requested")
	}
	if was := old.Spec.CurrentSnapshotName; was != "" && now.Spec.CurrentSnapshotName == "" && isTrue(now, vmv1alpha1.ConditionSnapshotSynced) {
		normal("Reverted", "The virtual machine and its object are what they were at snapshot "+was)
	}
	// A change to another failure is a warning, see failures.
	if was := findCondition(old, vmv1alpha1.ConditionBootstrapReady); was != nil && was.Status == metav1.ConditionFalse && isTrue(now, vmv1alpha1.ConditionBootstrapReady) {
		normal(vmv1alpha1.ConditionBootstrapReady, "The bootstrap data is complete")
	}
	events = append(events, probeEvents(old, now)...)
	events = append(events, question(old, now)...)
	if c, was := findCondition(now, vmv1alpha1.ConditionImageCacheReady), findCondition(old, vmv1alpha1.ConditionImageCacheReady); c != nil &&
		(c.Reason == vmv1alpha1.ReasonDirectInstead || c.Reason == vmv1alpha1.ReasonDeployedInstead) && (was == nil || was.Reason != c.Reason) {
		normal(c.Reason, c.Message)
	}
	events = append(events, missing(old, now)...)
	events = append(events, deleteFailure(old, now)...)
	return append(events, failures(old, now)...)
}

// probeEvents tells when a guest begins to be ready, and when it is no longer.
func probeEvents(old, now *vmv1alpha1.VirtualMachine) []event {
	was, is := findCondition(old, vmv1alpha1.ConditionProbeSucceeded), findCondition(now, vmv1alpha1.ConditionProbeSucceeded)
	switch {
	case is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason:
	case is.Status == metav1.ConditionTrue:
		return []event{{corev1.EventTypeNormal, "ProbeSucceeded", actionReconcile, "The readiness probe succeeds"}}
	case is.Status == metav1.ConditionFalse && is.Reason == vmv1alpha1.ReasonNotReady:
		return []event{{corev1.EventTypeWarning, "ProbeFailed", actionReconcile, is.Message}}
	}
	return nil
}

// question returns a warning when vSphere begins to ask something, a full datastore among
// them, and what became of it.
func question(old, now *vmv1alpha1.VirtualMachine) []event {
	was, is := findCondition(old, vmv1alpha1.ConditionQuestionsAnswered), findCondition(now, vmv1alpha1.ConditionQuestionsAnswered)
	switch {
	case is != nil && is.Status == metav1.ConditionFalse && (was == nil || was.Message != is.Message):
		return []event{{corev1.EventTypeWarning, vmv1alpha1.ReasonQuestionPending, actionReconcile, is.Message}}
	case is == nil && was != nil && was.Status == metav1.ConditionFalse:
		return []event{{corev1.EventTypeNormal, "QuestionAnswered", actionReconcile, "vSphere has its answer"}}
	}
	return nil
}

// missingReasons are those of a VM that vSphere does not show any more.
var missingReasons = []string{vmv1alpha1.ReasonMissing, vmv1alpha1.ReasonManyMissing, vmv1alpha1.ReasonCopyFound}

// missing returns a warning when vSphere does not show any more what it had.
func missing(old, now *vmv1alpha1.VirtualMachine) []event {
	c, was := findCondition(now, vmv1alpha1.ConditionCreated), findCondition(old, vmv1alpha1.ConditionCreated)
	if c == nil || !slices.Contains(missingReasons, c.Reason) || was != nil && was.Reason == c.Reason {
		return nil
	}
	return []event{{corev1.EventTypeWarning, c.Reason, actionReconcile, c.Message}}
}

// failureReasons are the condition reasons that somebody has to do something
// about; others go away by themselves.
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

// deletion says what has become of the vSphere virtual machine of an object that is gone.
func deletion(vm *vmv1alpha1.VirtualMachine) string {
	_, kept := vm.Annotations[vmv1alpha1.AnnotationSkipDelete]
	_, unregistered := vm.Annotations[vmv1alpha1.AnnotationUnregister]
	switch id := vm.Status.UniqueID; {
	case kept:
		return "The object is deleted, the vSphere virtual machine is left in place as annotated"
	case id == "": // what was destroyed while it was being made had none yet
		return "The object is deleted; vSphere has no virtual machine of its own for it"
	case unregistered: // whose files are left
		return "The vSphere virtual machine is deleted or, if vCenter could not reach it, unregistered as annotated: " + id
	default:
		return "The vSphere virtual machine is deleted: " + id
	}
}

// withoutFinalizer returns the event of a deletion that is not ours, in the pass that
// first sees it. What we deleted ourselves has been told.
func withoutFinalizer(old, now *vmv1alpha1.VirtualMachine) []event {
	if old.Status.Phase == now.Status.Phase {
		return nil
	}
	return []event{{corev1.EventTypeWarning, "Deleted", actionDelete,
		"The object is deleted and lacks the finalizer " + vmv1alpha1.VirtualMachineFinalizer + ": a vSphere virtual machine of it is left in place"}}
}

// failures returns a warning for every condition that turned False for a reason
// that it did not have before, or because of another holder.
func failures(old, now *vmv1alpha1.VirtualMachine) []event {
	var events []event
	for _, c := range now.Status.Conditions {
		if c.Type == vmv1alpha1.ConditionReady || !failed(&c) {
			continue
		}
		if c.Type == vmv1alpha1.ConditionSynchronized && sizeFailed(now) {
			continue // the condition of the size says it better
		}
		if sameFailure(findCondition(old, c.Type), &c) {
			continue
		}
		action := actionReconcile
		if now.DeletionTimestamp != nil {
			action = actionDelete
		}
		events = append(events, event{corev1.EventTypeWarning, failureName(c.Type), action, c.Message})
	}
	return events
}

// sameFailure says whether a failure has been told. Its words alone make no other one,
// but for what somebody holds: a claim can go from one holder to the next between two
// looks, and who waits wants to know whom for.
func sameFailure(was, is *metav1.Condition) bool {
	if was == nil || was.Status != is.Status || was.Reason != is.Reason {
		return false
	}
	return is.Reason != vmv1alpha1.ReasonInUse || was.Message == is.Message
}

// failed says whether a condition is False for a reason that is worth a warning.
func failed(c *metav1.Condition) bool {
	return c != nil && c.Status == metav1.ConditionFalse && slices.Contains(failureReasons, c.Reason)
}

// sizeFailed says whether the source of the size or the preference is at fault.
func sizeFailed(vm *vmv1alpha1.VirtualMachine) bool {
	return failed(findCondition(vm, vmv1alpha1.ConditionInstancetypeReady)) ||
		failed(findCondition(vm, vmv1alpha1.ConditionPreferenceReady)) ||
		failed(findCondition(vm, vmv1alpha1.ConditionClassReady))
}

// deleteFailure returns a warning when a deletion ran into another failure than
// before, and tells when something begins to hold it.
func deleteFailure(old, now *vmv1alpha1.VirtualMachine) []event {
	ready := findCondition(now, vmv1alpha1.ConditionReady)
	if now.DeletionTimestamp == nil || ready == nil || ready.Message == "" {
		return nil
	}
	if was := findCondition(old, vmv1alpha1.ConditionReady); was != nil && was.Reason == ready.Reason && was.Message == ready.Message {
		return nil
	}
	if ready.Reason == vmv1alpha1.ReasonHeldByCheck || ready.Reason == vmv1alpha1.ReasonPaused {
		return []event{{corev1.EventTypeNormal, "DeletionHeld", actionDelete, ready.Message}}
	}
	return []event{{corev1.EventTypeWarning, "DeleteFailed", actionDelete, ready.Message}}
}

// failureName is the reason of the event for a condition that failed.
func failureName(conditionType string) string {
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
