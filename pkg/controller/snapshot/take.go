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

// advance takes the snapshot, or shows what vSphere has of it. Its error is retried with a
// growing delay.
func (p *pass) advance(ctx context.Context) error {
	if why, message := p.lacks(); why != "" {
		p.not(why, message)
		return nil
	}
	text := ""
	if !conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated) {
		var ready bool
		var err error
		if text, ready, err = p.record(ctx); err != nil || !ready {
			return err
		}
	}
	made, err := p.provider.Snapshot(ctx, p.request(text))
	switch {
	case errors.Is(err, provider.ErrSnapshotMissing):
		p.set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonMissing, "vSphere does not show the snapshot "+p.snapshot.Status.UniqueID+" any more; it is not taken again")
		return nil
	case err != nil:
		return p.notYet(err, vmv1alpha1.ReasonCreating, "vSphere takes the snapshot")
	}
	p.show(made)
	return nil
}

// lacks is why the snapshot has to wait, without a question to vSphere; empty if it has not.
func (p *pass) lacks() (reason, message string) {
	name := p.snapshot.Spec.VMName
	switch {
	case p.vm == nil:
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q does not exist in namespace %q", name, p.snapshot.Namespace)
	case p.vm.UID != provider.MachineOf(p.snapshot):
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q is another one than that of the snapshot", name)
	case p.vm.DeletionTimestamp != nil:
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q is being deleted", name)
	case conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated):
		return "", ""
	case !conditions.IsTrue(p.vm.Status.Conditions, vmv1alpha1.ConditionCreated):
		return vmv1alpha1.ReasonWaitingForPrerequisites, fmt.Sprintf("VirtualMachine %q is not created", name)
	}
	if older := p.older(); older != "" {
		return vmv1alpha1.ReasonWaitingForPrerequisites, fmt.Sprintf("VirtualMachineSnapshot %q of the virtual machine is taken first", older)
	}
	return "", ""
}

// older is the oldest of those that come before this one, empty if it is its turn.
func (p *pass) older() string {
	var first *snapshot
	for _, s := range p.beside(types.NamespacedName{Namespace: p.snapshot.Namespace, Name: p.snapshot.Spec.VMName}) {
		if waitsFor(s) && (first == nil || compare(s, first) < 0) {
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

// waitsFor is true for a snapshot that younger ones wait for: it is to be taken, and nothing
// says that it cannot be.
func waitsFor(s *snapshot) bool {
	c := conditions.Find(s.Status.Conditions, vmv1alpha1.ConditionCreated)
	switch {
	case s.DeletionTimestamp != nil:
		return false
	case c == nil:
		return true
	}
	return c.Status != metav1.ConditionTrue && c.Reason != vmv1alpha1.ReasonInvalid && c.Reason != vmv1alpha1.ReasonError && c.Reason != vmv1alpha1.ReasonNotFound
}

// record is the text of the object of the virtual machine with the revisions that its spec
// needs. ready is false when these are not in the status that is stored.
func (p *pass) record(ctx context.Context) (text string, ready bool, err error) {
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
			p.not(vmv1alpha1.ReasonWaitingForPrerequisites, fmt.Sprintf("ControllerRevision %q, which the virtual machine has its size from, does not exist", name))
			p.result.RequeueAfter = controller.Recheck
			return "", false, nil
		case err != nil:
			return "", false, fmt.Errorf("reading ControllerRevision %s/%s: %w", vm.Namespace, name, err)
		}
		revisions = append(revisions, revision)
	}
	text, err = vmrecord.Of(vm, revisions...).Encode()
	if errors.Is(err, vmrecord.ErrTooLarge) {
		p.not(vmv1alpha1.ReasonInvalid, fmt.Sprintf("VirtualMachine %q: %v", p.vm.Name, err))
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	st := &p.snapshot.Status
	if c := conditions.Find(st.Conditions, vmv1alpha1.ConditionCreated); c == nil || st.InstancetypeRevision != names[0] || st.PreferenceRevision != names[1] {
		st.InstancetypeRevision, st.PreferenceRevision = names[0], names[1]
		p.not(vmv1alpha1.ReasonCreating, "vSphere is asked for the snapshot")
		p.result.Requeue = true // Who collects revisions knows now that these are needed.
		return "", false, nil
	}
	return text, true, nil
}

// pinned is the revision that a reference names, empty for none.
func pinned(ref *vmv1alpha1.InstancetypeRef) string {
	if ref == nil || ref.ControllerRevisionRef == nil {
		return ""
	}
	return ref.ControllerRevisionRef.Name
}

// request is what the provider is asked for.
func (p *pass) request(text string) *provider.Snapshot {
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

// show puts what vSphere has into the status.
func (p *pass) show(made *provider.ObservedSnapshot) {
	st := &p.snapshot.Status
	st.UniqueID, st.CreationTime, st.PowerState, st.Quiesced = made.UniqueID, made.CreationTime, made.PowerState, made.Quiesced
	st.Parent, st.Occupied, st.Children = made.Parent, made.Occupied, made.Children
	for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionReady} {
		p.set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	}
}

// passing are the reasons for which a snapshot that was ready is not less so: vSphere works on
// something else, or was not read yet.
var passing = []string{
	vmv1alpha1.ReasonSourceBusy, vmv1alpha1.ReasonCreating, vmv1alpha1.ReasonUnknownState, vmv1alpha1.ReasonTooManyOperations, vmv1alpha1.ReasonNotReady,
	vmv1alpha1.ReasonWaitingForPrerequisites,
}

// not says why the snapshot is not ready, and if it was never seen, why it is not created.
func (p *pass) not(reason, message string) {
	if !conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionCreated) {
		p.set(vmv1alpha1.ConditionCreated, metav1.ConditionFalse, reason, message)
	}
	if slices.Contains(passing, reason) && conditions.IsTrue(p.snapshot.Status.Conditions, vmv1alpha1.ConditionReady) {
		return
	}
	p.set(vmv1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
}

func (p *pass) set(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&p.snapshot.Status.Conditions, p.now(), metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.snapshot.Generation,
	})
}

// emit reports what has changed.
func (r *reconciler) emit(old, now *snapshot) {
	tell := func(kind, reason, note string, args ...any) {
		r.recorder.Eventf(now, nil, kind, reason, "Snapshot", "%s", conditions.Note(note, args...))
	}
	was, is := conditions.Find(old.Status.Conditions, vmv1alpha1.ConditionReady), conditions.Find(now.Status.Conditions, vmv1alpha1.ConditionReady)
	switch {
	case is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason:
	case is.Status == metav1.ConditionTrue:
		tell(corev1.EventTypeNormal, "Ready", "vSphere has the snapshot %s of VirtualMachine %q", now.Status.UniqueID, now.Spec.VMName)
	case is.Reason == vmv1alpha1.ReasonError || is.Reason == vmv1alpha1.ReasonInvalid || is.Reason == vmv1alpha1.ReasonMissing:
		tell(corev1.EventTypeWarning, "SnapshotFailed", "%s", is.Message)
	}
}
