// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Reconcile reads the virtual machine of key, reconciles or deletes it, and writes the changes. If both the reconcile
// and the write fail, the error of the write is only logged. A conflict is not an error: the object is read and
// reconciled again.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	original, err := r.vms.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading virtual machine %s: %w", key, err)
	}
	if original == nil {
		r.forget(key)
		return controller.Result{}, nil
	}
	bound, err := r.shard.Bind(ctx, r.vcenterOf(original))
	if err != nil {
		return controller.Result{}, ctx.Err() // another replica reconciles it
	}
	ctx = bound

	p := newReconciliation(original, r.now())
	p.owner = owner.Read(r.machines, p.VM)
	var reconcileErr error
	if p.VM.DeletionTimestamp != nil {
		reconcileErr = r.reconcileDelete(ctx, p)
	} else {
		reconcileErr = r.reconcileNormal(ctx, p)
	}
	if len(p.Conditions) > 0 {
		p.mergeConditions()
		summarize(p.VM)
	}
	return combine(ctx, p, reconcileErr, r.writer.persist(ctx, p))
}

// combine returns the result of a reconcile from its error and the error of its write.
func combine(ctx context.Context, p *reconciliation, reconcileErr, persistErr error) (controller.Result, error) {
	switch {
	case persistErr == nil:
	case apierrors.IsConflict(persistErr):
		klog.FromContext(ctx).V(4).Info("The virtual machine changed during the reconcile, reading it again")
		// Not immediately, even if the reconcile requested that: it would cause the same conflict.
		p.Next = controller.Result{RequeueAfter: controller.ShortConflict}
	case reconcileErr == nil:
		reconcileErr = persistErr
	default:
		klog.FromContext(ctx).Error(persistErr, "Writing the virtual machine failed after a failed reconcile")
	}
	if reconcileErr != nil {
		return controller.Result{}, fmt.Errorf("reconciling virtual machine %s: %w", p.Key(), reconcileErr)
	}
	if p.Next.Requeue {
		p.Next.RequeueAfter = 0 // an immediate requeue is earlier
	}
	return p.Next, nil
}

// reconcileNormal reconciles a virtual machine that is not being deleted.
func (r *reconciler) reconcileNormal(ctx context.Context, p *reconciliation) error {
	if p.checkPaused("reconciling") {
		return nil
	}
	if !hasFinalizer(p.VM) {
		p.VM.Finalizers = append(p.VM.Finalizers, vmv1alpha1.VirtualMachineFinalizer)
		p.RequeueAfter(0)
		return nil
	}
	p.Remove(vmv1alpha1.ConditionPaused)

	vmi, err := r.instance.Instances.Get(p.Key())
	if err != nil {
		return fmt.Errorf("reading the virtual machine instance: %w", err)
	}
	p.Instance = controller.IfOwned(vmi, p.VM)

	var errs []error
	errs = append(errs, p.addReport(r.group.Reconcile(ctx, p.State)))
	synced, err := r.synchronize(ctx, p)
	errs = append(errs, err)
	req, noLocation, err := r.gather(ctx, p, synced)
	errs = append(errs, err)
	if noLocation {
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionMachineReady)
	} else {
		errs = append(errs, r.callProvider(ctx, p, req))
	}
	p.clearStartRequest()
	if !p.restoring { // The restored spec takes effect in the next reconcile.
		errs = append(errs, p.addReport(r.volumes.Release(ctx, p.State)))
	}
	errs = append(errs, r.checkMACs(p))
	probed, err := r.probe.Reconcile(ctx, p.State)
	p.Add(probed.Report)
	finishStatus(p, probed.Result)
	if !p.restoring {
		err = errors.Join(err, p.addReport(r.instance.Reconcile(ctx, instance.State{State: p.State, Cached: vmi})))
	}
	return errors.Join(append(errs, err)...)
}

// clearStartRequest removes the annotation that requests a start when the start is done, or when the spec no longer
// allows it.
func (p *reconciliation) clearStartRequest() {
	if p.restoring || p.VM.DesiredPowerState(p.VM.Status.PowerState) == vmv1alpha1.PoweredOn && p.VM.Status.PowerState != vmv1alpha1.PoweredOn {
		return
	}
	delete(p.VM.Annotations, vmv1alpha1.AnnotationStartRequested)
}

// synchronize runs all synchronizers, which also resolve the effective spec. All failures are shown in conditions. Only
// errors that a retry can fix are returned.
func (r *reconciler) synchronize(ctx context.Context, p *reconciliation) (synced bool, _ error) {
	result, err := r.chain.Sync(ctx, p.VM, p.Instance)
	p.VM, p.Effective, p.pinned = result.VM, result.Effective, result.Pinned
	p.Conditions = append(p.Conditions, result.Conditions...)
	if instancetype.IsMissing(err) && refersToUnwatched(p.VM) {
		p.RequeueAfter(controller.Recheck)
	}
	return err == nil, retryable(err)
}

// checkPaused reports whether the virtual machine is paused, and sets the conditions that show the reason.
func (p *reconciliation) checkPaused(doing string) bool {
	paused, by := p.owner.PausedBy(p.VM)
	if by != "" {
		p.reportPaused(doing + " is paused " + by)
	} else if paused {
		summarize(p.VM)
	}
	return paused
}

// refersToUnwatched reports whether the size or the preference of vm depends on an object whose creation no watch
// reports: a claim that something is inferred from, or a revision. Instance types, preferences and classes are watched.
func refersToUnwatched(vm *vmv1alpha1.VirtualMachine) bool {
	if m := vm.Spec.Instancetype; m != nil && (m.InferFromVolume != "" || m.ControllerRevisionRef != nil || m.RevisionName != "") {
		return true
	}
	if m := vm.Spec.Preference; m != nil && (m.InferFromVolume != "" || m.ControllerRevisionRef != nil || m.RevisionName != "") {
		return true
	}
	i, p := vm.Status.InstancetypeRef, vm.Status.PreferenceRef
	return i != nil && i.ControllerRevisionRef != nil || p != nil && p.ControllerRevisionRef != nil
}

// forget removes the in-memory state of a deleted virtual machine.
func (r *reconciler) forget(key types.NamespacedName) {
	r.provider.Forget(key)
	r.probe.Forget(key)
}

// reconciliation is one reconcile of one virtual machine, with the data that its steps share and the reports of the
// steps so far. It is used by one worker only.
type reconciliation struct {
	step.State
	step.Report
	// owner is the Machine whose infrastructure the virtual machine is, or nil if there is none.
	owner *owner.MachineState
	// pinned are the revisions that the status has referred to only since this reconcile.
	pinned []*itv1alpha1.ControllerRevision
	// restoring is true if the object was restored to its state at a snapshot.
	restoring bool
}

func newReconciliation(original *vmv1alpha1.VirtualMachine, now time.Time) *reconciliation {
	p := &reconciliation{State: step.State{Original: original, VM: original.DeepCopy(), Now: now}}
	p.observe(provider.Result{})
	return p
}

// vmWithConditions returns the virtual machine with the conditions that were reported so far. The provider gets it in
// this form.
func (p *reconciliation) vmWithConditions() *vmv1alpha1.VirtualMachine {
	vm := *p.VM
	vm.Status.Conditions = p.Merge(p.VM, p.Now)
	return &vm
}

// observe applies a response of the provider.
func (p *reconciliation) observe(result provider.Result) {
	p.AddResult(&result)
	all := p.Merge(p.VM, p.Now)
	p.Observed = step.Observed{
		Result: result, Created: conditions.IsTrue(all, vmv1alpha1.ConditionCreated),
		Configured: isConfigured(all), Reverting: revert.HasBegun(all),
	}
	result.Conditions, result.Withdrawn = nil, nil
	result.Apply(&p.VM.Status, p.VM.Generation, p.Now)
}

// isConfigured reports whether no configuration is left to apply now. Settings that are not applied need a restart or a
// change by the user.
func isConfigured(all []metav1.Condition) bool {
	c := conditions.Find(all, vmv1alpha1.ConditionConfigurationSynced)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == vmv1alpha1.ReasonNotApplied || c.Reason == vmv1alpha1.ReasonRestartRequired)
}

// addReport adds the report of a step and returns the step's error.
func (p *reconciliation) addReport(report step.Report, err error) error {
	p.Add(report)
	return err
}

// mergeConditions writes the conditions that the steps have reported to the status.
func (p *reconciliation) mergeConditions() {
	p.VM.Status.Conditions, p.Conditions = p.Merge(p.VM, p.Now), nil
}

// reconcileDelete deletes the vSphere VM and the running instance, and then removes the finalizer. Of the objects that
// the virtual machine refers to, it only releases the claims. A missing object cannot block the deletion.
func (r *reconciler) reconcileDelete(ctx context.Context, p *reconciliation) error {
	if !hasFinalizer(p.VM) {
		summarize(p.VM)
		r.forget(p.Key())
		return nil
	}
	if p.checkPaused("deletion") {
		return nil
	}
	vmi, err := r.instance.Instances.Get(p.Key())
	if err != nil {
		return fmt.Errorf("reading the virtual machine instance: %w", err)
	}
	if p.Instance = controller.IfOwned(vmi, p.VM); p.Instance != nil {
		// The running spec has the time limit for the guest's shutdown.
		p.Effective = &p.Instance.Spec
	}
	p.Remove(vmv1alpha1.ConditionPaused)
	req := &provider.Request{}
	r.complete(p, req)
	if held := p.VM.DeletionBlockedMessage(); held != "" {
		result, err := r.provider.ReportVirtualMachine(ctx, req)
		p.observe(result)
		p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonHeldByCheck, "deletion is "+held)
		return p.handleProviderError(err, "reading")
	}
	p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonDeleting, "")

	if _, skip := p.VM.Annotations[vmv1alpha1.AnnotationSkipDelete]; !skip {
		// If the mode cannot be determined, the default is used: copied disks are recognized in any case.
		if req.FastDeploy, err = r.imageCache.Mode(ctx, p.VM); err != nil {
			req.FastDeploy = r.imageCache.Default
		}
		result, err := r.provider.DeleteVirtualMachine(ctx, req)
		p.observe(result)
		if err != nil {
			// If vCenter does not respond, the provider has already reported the reason.
			if conditions.Find(result.Conditions, vmv1alpha1.ConditionReady) == nil {
				p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonDeleting, deletionMessage(err))
			}
			return p.handleProviderError(err, "deleting")
		}
		// Addresses are released only now, because the guest could use them until now. If the vSphere VM is not
		// deleted, its addresses stay claimed.
		if err := r.addresses.Release(ctx, p.VM); err != nil {
			p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonDeleting, err.Error())
			return fmt.Errorf("releasing addresses: %w", err)
		}
	}
	released, err := r.volumes.ReleaseAll(ctx, p.State)
	p.Add(released)
	if err != nil || released.Wait {
		return err
	}
	if err := r.instance.Remove(ctx, p.State); err != nil {
		return err
	}
	p.VM.Finalizers = slices.DeleteFunc(p.VM.Finalizers, func(f string) bool {
		return f == vmv1alpha1.VirtualMachineFinalizer
	})
	r.forget(p.Key())
	return nil
}

// deletionMessage returns the message of a deletion error for the user. It is empty if the error only means that the
// deletion must wait.
func deletionMessage(err error) string {
	var again *provider.RequeueError
	switch {
	case errors.Is(err, provider.ErrReconcileInProgress), errors.Is(err, provider.ErrTooManyOperations), errors.Is(err, provider.ErrPaused):
		return ""
	case errors.As(err, &again):
		return again.Reason
	}
	return err.Error()
}

// hasFinalizer reports whether vm has Slipway's finalizer.
func hasFinalizer(vm *vmv1alpha1.VirtualMachine) bool {
	return slices.Contains(vm.Finalizers, vmv1alpha1.VirtualMachineFinalizer)
}
