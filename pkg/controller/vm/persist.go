// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// writer writes virtual machines and records their events.
type writer struct {
	vms       controller.Store[*vmv1alpha1.VirtualMachine]
	client    vmclient.VirtualMachinesGetter
	echoes    *controller.Echoes[*vmv1alpha1.VirtualMachine]
	revisions synchronizer.RevisionStore
	recorder  events.EventRecorder
	metrics   *createMetrics
}

// persist writes the changes of a reconcile with at most one Update and one UpdateStatus. The status is written even if
// the API server refuses the object. Then persist ensures that the revisions exist that the status newly refers to, and
// records events. A deleted virtual machine is not written.
func (w *writer) persist(ctx context.Context, p *reconciliation) error {
	stored, err := w.writeMain(ctx, p.Original, p.VM)
	var refused error
	switch {
	case err == nil:
	case !isRefused(err):
		return ignoreNotFound(err)
	case p.restoring:
		stored = p.Original
		p.undoChanges()
		p.Next = controller.Result{RequeueAfter: p.Next.RequeueAfter} // not immediately
		p.Add(revert.ReportRefused(err))
		p.mergeConditions()
	default:
		stored, refused = p.Original, err
		p.handleRefusedObject(err)
	}
	if isRemoved(stored) {
		w.emit(p.Original, p.VM)
		return nil
	}
	if _, err := w.writeStatus(ctx, p.Original, p.VM, stored); err != nil {
		return ignoreNotFound(err)
	}
	w.metrics.observe(p.Original, p.VM, p.Now)
	w.emit(p.Original, p.VM)
	for _, revision := range p.pinned {
		if err := synchronizer.EnsureRevision(ctx, w.revisions, revision); err != nil {
			return fmt.Errorf("ensuring the pinned revisions of virtual machine %s: %w", p.Key(), err)
		}
	}
	return refused
}

// isRefused reports whether the API server refused an object because of its contents.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// undoChanges undoes the changes of a reconcile to spec, labels and annotations.
func (p *reconciliation) undoChanges() {
	p.VM.Spec, p.VM.Labels, p.VM.Annotations = p.Original.Spec, p.Original.Labels, p.Original.Annotations
}

// handleRefusedObject undoes the changes of a reconcile to metadata and spec that the API server refused with err. The
// reason is written to the status together with all observations, because the ID of the vSphere VM must not be lost.
func (p *reconciliation) handleRefusedObject(err error) {
	p.undoChanges()
	vm, stored := p.VM, p.Original
	vm.Finalizers = stored.Finalizers
	vm.Status.InstancetypeRef, vm.Status.PreferenceRef = stored.Status.InstancetypeRef, stored.Status.PreferenceRef
	p.False(vmv1alpha1.ConditionSynchronized, vmv1alpha1.ReasonError, "the API server refuses the changes to the object: "+err.Error())
	p.mergeConditions()
	summarize(p.VM)
}

// writeMain updates metadata and spec if they changed, and returns the stored object.
func (w *writer) writeMain(ctx context.Context, original, vm *vmv1alpha1.VirtualMachine) (*vmv1alpha1.VirtualMachine, error) {
	if !mainChanged(original, vm) {
		return original, nil
	}
	if err := w.vms.Admit(ctx, w.client.VirtualMachines(vm.Namespace), vm); err != nil {
		return nil, err
	}
	stored, err := w.client.VirtualMachines(vm.Namespace).Update(ctx, vm, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("updating virtual machine %s/%s: %w", vm.Namespace, vm.Name, err)
	}
	w.vms.RecordWrite(stored)
	return stored, nil
}

// writeStatus updates the status if it changed. It uses the latest stored version of the object.
func (w *writer) writeStatus(ctx context.Context, original, vm, stored *vmv1alpha1.VirtualMachine) (*vmv1alpha1.VirtualMachine, error) {
	w.vms.CopyLimitCondition(vm)
	conditions.KeepTimes(original.Status.Conditions, vm.Status.Conditions)
	if equality.Semantic.DeepEqual(original.Status, vm.Status) {
		return stored, nil
	}
	written, err := w.updateStatus(ctx, stored, vm.Status)
	if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
		klog.FromContext(ctx).Error(err, "The status was refused, writing it without informational fields")
		lesser := reduceStatus(&vm.Status)
		if equality.Semantic.DeepEqual(original.Status, *lesser) {
			return stored, nil
		}
		written, err = w.updateStatus(ctx, stored, *lesser)
	}
	if err != nil {
		return nil, fmt.Errorf("updating status of virtual machine %s/%s: %w", vm.Namespace, vm.Name, err)
	}
	return written, nil
}

// updateStatus writes status to the stored object.
func (w *writer) updateStatus(ctx context.Context, stored *vmv1alpha1.VirtualMachine, status vmv1alpha1.VirtualMachineStatus) (*vmv1alpha1.VirtualMachine, error) {
	next := stored.DeepCopy()
	next.Status = status
	if err := w.vms.Admit(ctx, w.client.VirtualMachines(next.Namespace), next); err != nil {
		return nil, err
	}
	w.echoes.Expect(next)
	written, err := w.client.VirtualMachines(stored.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		w.echoes.Forget(controller.KeyOf(next))
		return nil, err
	}
	w.vms.RecordWrite(written)
	return written, nil
}

// mainChanged reports whether any field that the controller writes through the main resource differs.
func mainChanged(a, b *vmv1alpha1.VirtualMachine) bool {
	return !equality.Semantic.DeepEqual(a.Spec, b.Spec) ||
		!equality.Semantic.DeepEqual(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.Annotations, b.Annotations) ||
		!equality.Semantic.DeepEqual(a.Finalizers, b.Finalizers)
}

// isRemoved reports whether the server removed the object with the last write.
func isRemoved(stored *vmv1alpha1.VirtualMachine) bool {
	return stored.DeletionTimestamp != nil && len(stored.Finalizers) == 0
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// reduceStatus returns a status without invalid parts and without informational parts that may be large. It keeps the
// ID of the vSphere VM, the pinned revisions, the restart time and the valid conditions. Without them, the next
// reconcile would decide without any of this.
func reduceStatus(st *vmv1alpha1.VirtualMachineStatus) *vmv1alpha1.VirtualMachineStatus {
	out := st.DeepCopy()
	out.Network, out.Guest, out.Storage = nil, nil, nil
	out.Snapshots, out.RootSnapshots = nil, nil
	out.Volumes, out.Addresses, out.RestartRequired = nil, nil, nil
	out.Conditions = nil
	for _, c := range st.Conditions {
		c.Message = conditions.Message(c.Message)
		alone := metav1validation.ValidateConditions([]metav1.Condition{c}, field.NewPath("conditions"))
		if len(alone) == 0 && conditions.Find(out.Conditions, c.Type) == nil {
			out.Conditions = append(out.Conditions, c)
		}
	}
	if !slices.Contains([]vmv1alpha1.PowerState{vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended}, out.PowerState) {
		out.PowerState = ""
	}
	return out
}
