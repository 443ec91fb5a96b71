// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revert restores the object of a virtual machine after its vSphere VM is reverted to a snapshot. The provider
// reverts the VM. The reconcile that observes this restores the object.
package revert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Reconciler reverts virtual machines.
type Reconciler struct {
	VMs       controller.Store[*vmv1alpha1.VirtualMachine]
	Client    vmclient.VirtualMachinesGetter
	Snapshots vmlisters.VirtualMachineSnapshotLister
	Reader    instancetype.Reader
	Revisions synchronizer.RevisionStore
}

// Target is the snapshot in spec.currentSnapshotName.
type Target struct {
	// Snapshot is nil if there is no snapshot, or if the virtual machine cannot be reverted to it.
	Snapshot *provider.RevertTarget
	// refusal has the condition that explains why it cannot be reverted.
	refusal step.Report
}

// Target returns the snapshot in spec.currentSnapshotName of vm.
func (r *Reconciler) Target(vm *vmv1alpha1.VirtualMachine) (to Target, err error) {
	name := vm.Spec.CurrentSnapshotName
	if name == "" {
		return Target{}, nil
	}
	refuse := func(reason, format string, args ...any) (Target, error) {
		to.refusal.False(vmv1alpha1.ConditionSnapshotSynced, reason, fmt.Sprintf("spec.currentSnapshotName: VirtualMachineSnapshot %q ", name)+fmt.Sprintf(format, args...))
		return to, nil
	}
	s, err := r.Snapshots.VirtualMachineSnapshots(vm.Namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return refuse(vmv1alpha1.ReasonNotFound, "does not exist in namespace %q", vm.Namespace)
	case err != nil:
		return Target{}, fmt.Errorf("reading snapshot %s/%s: %w", vm.Namespace, name, err)
	case s.Spec.VMName == vm.Name && provider.OwnerVMUID(s) == "":
		return refuse(vmv1alpha1.ReasonNotReady, "is not reconciled yet")
	case s.Spec.VMName != vm.Name || provider.OwnerVMUID(s) != vm.UID:
		return refuse(vmv1alpha1.ReasonInvalid, "is not a snapshot of this virtual machine")
	case !conditions.IsTrue(s.Status.Conditions, vmv1alpha1.ConditionReady):
		return refuse(vmv1alpha1.ReasonNotReady, "is not Ready")
	}
	return Target{Snapshot: &provider.RevertTarget{Name: s.Name, UID: s.UID, UniqueID: s.Status.UniqueID, Admit: r.admit(controller.KeyOf(vm), s)}}, nil
}

// State is the input of Reconcile.
type State struct {
	step.State
	// Target is the snapshot that was passed to the provider.
	Target Target
	// ProviderErr is the error that the provider returned.
	ProviderErr error
}

// Report is the result of Reconcile.
type Report struct {
	step.Report
	// Restored is true if the object was restored to its state at the snapshot. The next reconcile does everything
	// else.
	Restored bool
}

// Reconcile restores the object after the provider has reverted the VM, or reports why the VM is not reverted. If the
// provider's answer shows that a revert may still run, its condition is kept: the object is restored later because of
// that condition.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (Report, error) {
	runs := s.Observed.Reverting && (errors.Is(s.ProviderErr, provider.ErrReconcileInProgress) || errors.Is(s.ProviderErr, provider.ErrUnknownState))
	switch {
	case s.Observed.Reverted != nil:
		return r.restore(ctx, s.VM, s.Observed.Reverted), nil
	case !runs && len(s.Target.refusal.Conditions) > 0:
		return Report{Report: s.Target.refusal}, nil
	case s.VM.Spec.CurrentSnapshotName == "" && !s.Observed.Reverting:
		dropCharge(s.VM)
	}
	return Report{}, nil
}

// admit returns the check that the provider calls with the object record before vSphere reverts the VM. The API server
// must accept the restored object. ResourceQuotas are charged for it until it is restored.
func (r *Reconciler) admit(key types.NamespacedName, s *vmv1alpha1.VirtualMachineSnapshot) func(context.Context, string) error {
	return func(ctx context.Context, record string) error {
		client := r.Client.VirtualMachines(key.Namespace)
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			vm, err := client.Get(ctx, key.Name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("reading virtual machine %s: %w", key, err)
			}
			if vm.UID != provider.OwnerVMUID(s) || vm.Spec.CurrentSnapshotName != s.Name {
				return fmt.Errorf("the revert of %s to %q is no longer requested", key, s.Name)
			}
			vm.Status.PowerState = s.Status.PowerState // after the revert
			then, err := r.restoreRecord(ctx, vm, record)
			if err != nil {
				return err
			}
			if _, err := client.Update(ctx, then, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				return fmt.Errorf("the virtual machine is not reverted, because the API server refuses its object as of the snapshot: %w", err)
			}
			text, err := json.Marshal(chargedSpec(&then.Spec))
			if err != nil || vm.Annotations[vmv1alpha1.AnnotationReverting] == string(text) {
				return err
			}
			if vm.Annotations == nil {
				vm.Annotations = map[string]string{}
			}
			vm.Annotations[vmv1alpha1.AnnotationReverting] = string(text)
			written, err := client.Update(ctx, vm, metav1.UpdateOptions{})
			if err != nil {
				return fmt.Errorf("the virtual machine is not reverted, because its size at the snapshot cannot be charged to the quota: %w", err)
			}
			r.VMs.RecordWrite(written)
			return nil
		})
	}
}

// dropCharge removes the quota charge of a revert that was withdrawn.
func dropCharge(vm *vmv1alpha1.VirtualMachine) {
	if _, charged := vm.Annotations[vmv1alpha1.AnnotationReverting]; charged {
		vm.Annotations = maps.Clone(vm.Annotations)
		delete(vm.Annotations, vmv1alpha1.AnnotationReverting)
	}
}

// chargedSpec returns the part of a spec that ResourceQuotas are charged for.
func chargedSpec(spec *vmv1alpha1.VirtualMachineSpec) *vmv1alpha1.VirtualMachineSpec {
	return &vmv1alpha1.VirtualMachineSpec{
		ClassName: spec.ClassName, Instancetype: spec.Instancetype, Preference: spec.Preference, CPU: spec.CPU, Memory: spec.Memory,
		Image: spec.Image, Volumes: spec.Volumes, BootDisk: spec.BootDisk, PowerState: spec.PowerState,
	}
}

// HasBegun reports whether the conditions show a revert that has begun and whose object is not restored.
func HasBegun(all []metav1.Condition) bool {
	c := conditions.Find(all, vmv1alpha1.ConditionSnapshotSynced)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonReverting
}

// restore restores the object to its state at the snapshot: spec, labels and annotations. The size is the size at the
// snapshot, even if the instance type has changed since. The power state is the one that the revert restored. The
// object is written at the end of the reconcile, like all changes.
func (r *Reconciler) restore(ctx context.Context, vm *vmv1alpha1.VirtualMachine, kept *provider.StoredSnapshotRecord) (report Report) {
	then, err := r.restoreRecord(ctx, vm, kept.Record)
	if err != nil {
		report.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "the virtual machine is reverted in vSphere, but its object cannot be restored: "+err.Error())
		report.RequeueAfter(controller.Poll)
		return report
	}
	vm.Spec, vm.Labels, vm.Annotations = then.Spec, then.Labels, then.Annotations
	report.Restored = true
	report.True(vmv1alpha1.ConditionSnapshotSynced)
	report.RequeueAfter(0)
	return report
}

// ReportRefused reports that the API server refused the restored object with err.
func ReportRefused(err error) (report step.Report) {
	report.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting,
		"the virtual machine is reverted in vSphere, but the API server refuses its restored object, retrying: "+err.Error())
	report.RequeueAfter(controller.Poll)
	return report
}

// restoreRecord returns vm with the object record of a snapshot applied. It creates the revisions that the restored
// object needs.
func (r *Reconciler) restoreRecord(ctx context.Context, vm *vmv1alpha1.VirtualMachine, record string) (*vmv1alpha1.VirtualMachine, error) {
	recorded, err := vmrecord.Decode(record)
	if err != nil {
		return nil, err
	}
	if recorded.UID != vm.UID {
		return nil, fmt.Errorf("the object record belongs to %s/%s with UID %s", recorded.Namespace, recorded.Name, recorded.UID)
	}
	out := vm.DeepCopy()
	out.Spec = restoreSpec(&recorded.Spec, vm)
	out.Labels, out.Annotations = restoreKeys(vm.Labels, recorded.Labels), restoreKeys(vm.Annotations, recorded.Annotations)
	delete(out.Annotations, vmv1alpha1.AnnotationReverting)
	saved := make([]*itv1alpha1.ControllerRevision, len(recorded.Revisions))
	for i := range recorded.Revisions {
		saved[i] = &recorded.Revisions[i]
	}
	out, missing, err := instancetype.PrepareRestored(ctx, out, saved, r.Reader)
	if err != nil {
		return nil, err
	}
	for _, revision := range missing {
		if err := synchronizer.EnsureRevision(ctx, r.Revisions, revision); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// restoreSpec returns the spec of the object record, without the revert request. Fields that identify the virtual
// machine keep their current values.
func restoreSpec(recorded *vmv1alpha1.VirtualMachineSpec, vm *vmv1alpha1.VirtualMachine) vmv1alpha1.VirtualMachineSpec {
	out := *recorded.DeepCopy()
	now := vm.Spec.DeepCopy()
	out.CurrentSnapshotName = ""
	if recorded.PowerState != "" || recorded.GroupName == "" { // A group determines the power state of its members.
		out.PowerState = cmp.Or(vm.Status.PowerState, recorded.PowerState)
	}
	out.Image, out.InstanceUUID, out.ProviderID, out.Zone = now.Image, now.InstanceUUID, now.ProviderID, now.Zone
	if now.Firmware != nil && now.Firmware.UUID != "" {
		if out.Firmware == nil {
			out.Firmware = &vmv1alpha1.VirtualMachineFirmware{}
		}
		out.Firmware.UUID = now.Firmware.UUID
	}
	return out
}

// restoreKeys returns the recorded labels or annotations of the user. Other keys keep their current values.
func restoreKeys(now, was map[string]string) map[string]string {
	out := maps.Clone(was)
	maps.DeleteFunc(out, func(key, _ string) bool { return !isUserKey(key) })
	for key, value := range now {
		if isUserKey(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}

// isUserKey reports whether a key belongs to the user. It returns false for the keys of privileged users and of
// controllers. It also returns false for kubectl's copy of the manifest, because kubectl compares that copy with the
// next manifest.
func isUserKey(key string) bool {
	switch key {
	case vmv1alpha1.LabelImageCache, vmv1alpha1.AnnotationImageCacheLocation, corev1.LastAppliedConfigAnnotation:
		return false
	}
	return !vmv1alpha1.IsPrivilegedKey(key)
}
