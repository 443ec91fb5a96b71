// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// advance takes the snapshot, or copies its state in vSphere to status. After an error, the snapshot is retried with a
// growing delay.
func (p *reconciliation) advance(ctx context.Context) error {
	if reason, message := p.missingPrerequisite(); reason != "" {
		p.setNotReady(reason, message)
		return nil
	}
	text := ""
	if !conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated) {
		var ready bool
		var err error
		if text, ready, err = p.objectRecord(ctx); err != nil || !ready {
			return err
		}
	}
	observed, err := p.provider.Snapshot(ctx, p.request(text))
	switch {
	case errors.Is(err, provider.ErrSnapshotMissing):
		p.set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonMissing, "snapshot "+p.snapshot.Status.UniqueID+" does not exist in vSphere any more; it is not taken again")
		return nil
	case err != nil:
		return p.handleError(err, vmv1alpha1.ReasonCreating, "the snapshot is being taken")
	}
	p.setObserved(observed)
	return nil
}

// missingPrerequisite returns why the snapshot must wait, as far as the API shows it. The reason is empty if it need not wait.
func (p *reconciliation) missingPrerequisite() (reason, message string) {
	name := p.snapshot.Spec.VMName
	switch {
	case p.vm == nil:
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q does not exist in namespace %q", name, p.snapshot.Namespace)
	case p.vm.UID != provider.OwnerVMUID(p.snapshot):
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q is not the one that the snapshot was created for: it has another UID", name)
	case p.vm.DeletionTimestamp != nil:
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q is being deleted", name)
	case conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated):
		return "", ""
	case !conditions.IsTrue(p.vm.Status.Conditions, vmv1alpha1.ConditionCreated):
		return vmv1alpha1.ReasonWaitingForPrerequisites, fmt.Sprintf("VirtualMachine %q is not created", name)
	}
	if older := p.oldestPending(); older != "" {
		return vmv1alpha1.ReasonWaitingForPrerequisites, fmt.Sprintf("waiting for the older VirtualMachineSnapshot %q of the VM", older)
	}
	return "", ""
}

// oldestPending returns the name of the oldest pending snapshot of the VM if it is older than this one.
func (p *reconciliation) oldestPending() string {
	var first *snapshot
	for _, s := range p.siblings(types.NamespacedName{Namespace: p.snapshot.Namespace, Name: p.snapshot.Spec.VMName}) {
		if isPending(s) && (first == nil || compare(s, first) < 0) {
			first = s
		}
	}
	if first == nil || compare(p.snapshot, first) <= 0 {
		return ""
	}
	return first.Name
}

func compare(a, b *snapshot) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// isPending reports whether a snapshot is not taken yet and was not refused. Younger snapshots wait for it.
func isPending(s *snapshot) bool {
	c := conditions.Find(s.Status.Conditions, vmv1alpha1.ConditionCreated)
	switch {
	case s.DeletionTimestamp != nil:
		return false
	case c == nil:
		return true
	}
	return c.Status != metav1.ConditionTrue && c.Reason != vmv1alpha1.ReasonInvalid && c.Reason != vmv1alpha1.ReasonError && c.Reason != vmv1alpha1.ReasonNotFound
}

// objectRecord returns the persisted object record: the encoded VM object with the revisions that its spec needs. ready is
// false if the stored status does not name these revisions yet.
func (p *reconciliation) objectRecord(ctx context.Context) (text string, ready bool, err error) {
	vm := p.vm.DeepCopy()
	vm.Spec = *instancetype.PinnedSpec(p.vm)
	vm.Spec.CurrentSnapshotName = ""
	names := []string{pinned(vm.Status.InstancetypeRef), pinned((*vmv1alpha1.InstancetypeRef)(vm.Status.PreferenceRef))}
	var revisions []*itv1alpha1.ControllerRevision
	for _, name := range names {
		if name == "" {
			continue
		}
		revision, err := p.revisions.ControllerRevisions(vm.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			p.setNotReady(vmv1alpha1.ReasonWaitingForPrerequisites, fmt.Sprintf("ControllerRevision %q, which the VM has pinned, does not exist", name))
			p.result.RequeueAfter = controller.Recheck
			return "", false, nil
		case err != nil:
			return "", false, fmt.Errorf("reading ControllerRevision %s/%s: %w", vm.Namespace, name, err)
		}
		revisions = append(revisions, revision)
	}
	text, err = vmrecord.Of(vm, revisions...).Encode()
	if errors.Is(err, vmrecord.ErrTooLarge) {
		p.setNotReady(vmv1alpha1.ReasonInvalid, fmt.Sprintf("VirtualMachine %q: %v", p.vm.Name, err))
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	st := &p.snapshot.Status
	if c := conditions.Find(st.Conditions, vmv1alpha1.ConditionCreated); c == nil || st.InstancetypeRevision != names[0] || st.PreferenceRevision != names[1] {
		st.InstancetypeRevision, st.PreferenceRevision = names[0], names[1]
		p.setNotReady(vmv1alpha1.ReasonCreating, "the snapshot is being requested")
		p.result.Requeue = true // the garbage collection of revisions now knows that these are needed
		return "", false, nil
	}
	return text, true, nil
}

// pinned returns the name of the revision in a reference, or an empty string.
func pinned(ref *vmv1alpha1.InstancetypeRef) string {
	if ref == nil || ref.ControllerRevisionRef == nil {
		return ""
	}
	return ref.ControllerRevisionRef.Name
}

// request returns the parameters for the provider.
func (p *reconciliation) request(text string) *provider.Snapshot {
	out := &provider.Snapshot{
		NamespacedName: controller.KeyOf(p.snapshot), UID: p.snapshot.UID,
		Source: types.NamespacedName{Namespace: p.snapshot.Namespace, Name: p.snapshot.Spec.VMName}, VM: p.vm,
		UniqueID: p.snapshot.Status.UniqueID, Memory: p.snapshot.Spec.Memory, Description: p.snapshot.Spec.Description, Record: text, Now: p.now(),
	}
	if q := p.snapshot.Spec.Quiesce; q != nil {
		out.Quiesce, out.QuiesceTimeout = true, time.Duration(q.TimeoutSeconds)*time.Second
	}
	return out
}

// setObserved copies the observed state of the snapshot to status.
func (p *reconciliation) setObserved(observed *provider.ObservedSnapshot) {
	st := &p.snapshot.Status
	st.UniqueID, st.CreationTime, st.PowerState, st.Quiesced = observed.UniqueID, observed.CreationTime, observed.PowerState, observed.Quiesced
	st.Parent, st.Occupied, st.Children = observed.Parent, observed.Occupied, observed.Children
	for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionReady} {
		p.set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	}
}

// transientReasons do not change Ready of a snapshot that was ready: another operation runs, or vSphere was not read yet.
var transientReasons = []string{
	vmv1alpha1.ReasonSourceBusy, vmv1alpha1.ReasonCreating, vmv1alpha1.ReasonUnknownState, vmv1alpha1.ReasonTooManyOperations, vmv1alpha1.ReasonNotReady,
	vmv1alpha1.ReasonWaitingForPrerequisites,
}

// setNotReady sets Ready to False, and Created too if vSphere never had the snapshot.
func (p *reconciliation) setNotReady(reason, message string) {
	if !conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated) {
		p.set(vmv1alpha1.ConditionCreated, metav1.ConditionFalse, reason, message)
	}
	if slices.Contains(transientReasons, reason) && conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionReady) {
		return
	}
	p.set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
}

func (p *reconciliation) set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&p.snapshot.Status.Conditions, p.now(), metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: p.snapshot.Generation,
	})
}

// emit records events for changes of Ready.
func (r *reconciler) emit(old, now *snapshot) {
	record := func(kind, reason, note string, args ...any) {
		r.recorder.Eventf(now, nil, kind, reason, "Snapshot", "%s", conditions.Note(note, args...))
	}
	before, ready := conditions.Find(old.Status.Conditions, vmv1alpha1.ConditionReady), conditions.Find(now.Status.Conditions, vmv1alpha1.ConditionReady)
	switch {
	case ready == nil || before != nil && before.Status == ready.Status && before.Reason == ready.Reason:
	case ready.Status == metav1.ConditionTrue:
		record(corev1.EventTypeNormal, "Ready", "vSphere has the snapshot %s of VirtualMachine %q", now.Status.UniqueID, now.Spec.VMName)
	case ready.Reason == vmv1alpha1.ReasonError || ready.Reason == vmv1alpha1.ReasonInvalid || ready.Reason == vmv1alpha1.ReasonMissing:
		record(corev1.EventTypeWarning, "SnapshotFailed", "%s", ready.Message)
	}
}
