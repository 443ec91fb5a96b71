// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revert takes the object of a virtual machine back to a snapshot together with its vSphere VM. The provider
// reverts the VM; the object is restored by the reconcile that learns of it.
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

// Target is the snapshot that the spec names.
type Target struct {
	// To is nil if there is none, or if the virtual machine cannot be reverted to it.
	To *provider.RevertTarget
	// refused says why not.
	refused step.Report
}

// Target returns the snapshot that the spec of vm names.
func (r *Reconciler) Target(vm *vmv1alpha1.VirtualMachine) (to Target, err error) {
	name := vm.Spec.CurrentSnapshotName
	if name == "" {
		return Target{}, nil
	}
	refuse := func(reason, format string, args ...any) (Target, error) {
		to.refused.False(vmv1alpha1.ConditionSnapshotSynced, reason, fmt.Sprintf("spec.currentSnapshotName: VirtualMachineSnapshot %q ", name)+fmt.Sprintf(format, args...))
		return to, nil
	}
	s, err := r.Snapshots.VirtualMachineSnapshots(vm.Namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return refuse(vmv1alpha1.ReasonNotFound, "does not exist in namespace %q", vm.Namespace)
	case err != nil:
		return Target{}, fmt.Errorf("reading snapshot %s/%s: %w", vm.Namespace, name, err)
	case s.Spec.VMName == vm.Name && provider.MachineOf(s) == "":
		return refuse(vmv1alpha1.ReasonNotReady, "is not looked at yet")
	case s.Spec.VMName != vm.Name || provider.MachineOf(s) != vm.UID:
		return refuse(vmv1alpha1.ReasonInvalid, "is not one of this virtual machine")
	case !conditions.IsTrue(s.Status.Conditions, vmv1alpha1.ConditionReady):
		return refuse(vmv1alpha1.ReasonNotReady, "is not Ready")
	}
	return Target{To: &provider.RevertTarget{Name: s.Name, UID: s.UID, UniqueID: s.Status.UniqueID, Admit: r.admit(controller.KeyOf(vm), s)}}, nil
}

// State is what a revert depends on.
type State struct {
	step.State
	// Target is what the provider was given.
	Target Target
	// Answer is the error of the provider.
	Answer error
}

// Report is what came of a revert.
type Report struct {
	step.Report
	// Restored is true if the object was made what it was at the snapshot. All else is for its next reconcile.
	Restored bool
}

// Reconcile restores the object after the provider has reverted the VM, or reports why it is not reverted. A revert
// that has begun may still run by the answer of the provider. Its condition, by which the object is restored after it,
// is then kept.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (Report, error) {
	runs := s.Observed.Reverting && (errors.Is(s.Answer, provider.ErrReconcileInProgress) || errors.Is(s.Answer, provider.ErrUnknownState))
	switch {
	case s.Observed.Reverted != nil:
		return r.restore(ctx, s.VM, s.Observed.Reverted), nil
	case !runs && len(s.Target.refused.Conditions) > 0:
		return Report{Report: s.Target.refused}, nil
	case s.VM.Spec.CurrentSnapshotName == "" && !s.Observed.Reverting:
		dropCharge(s.VM)
	}
	return Report{}, nil
}

// admit returns the check of a revert to s, which is called with the record before vSphere begins: the API must
// accept the object as it will be restored, and ResourceQuotas are charged for it until it is restored.
func (r *Reconciler) admit(key types.NamespacedName, s *vmv1alpha1.VirtualMachineSnapshot) func(context.Context, string) error {
	return func(ctx context.Context, record string) error {
		client := r.Client.VirtualMachines(key.Namespace)
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			vm, err := client.Get(ctx, key.Name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("reading virtual machine %s: %w", key, err)
			}
			if vm.UID != provider.MachineOf(s) || vm.Spec.CurrentSnapshotName != s.Name {
				return fmt.Errorf("the revert of %s to %q is not requested any more", key, s.Name)
			}
			vm.Status.PowerState = s.Status.PowerState // after the revert
			then, err := r.restored(ctx, vm, record)
			if err != nil {
				return err
			}
			if _, err := client.Update(ctx, then, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				return fmt.Errorf("vSphere does not revert the virtual machine, because its object is refused as it was then: %w", err)
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
				return fmt.Errorf("vSphere does not revert the virtual machine, because its size of then cannot be charged: %w", err)
			}
			r.VMs.Wrote(written)
			return nil
		})
	}
}

// dropCharge ends the charge for a revert that was withdrawn.
func dropCharge(vm *vmv1alpha1.VirtualMachine) {
	if _, charged := vm.Annotations[vmv1alpha1.AnnotationReverting]; charged {
		vm.Annotations = maps.Clone(vm.Annotations)
		delete(vm.Annotations, vmv1alpha1.AnnotationReverting)
	}
}

// chargedSpec is the part of a spec that ResourceQuotas are charged for.
func chargedSpec(spec *vmv1alpha1.VirtualMachineSpec) *vmv1alpha1.VirtualMachineSpec {
	return &vmv1alpha1.VirtualMachineSpec{
		ClassName: spec.ClassName, Instancetype: spec.Instancetype, Preference: spec.Preference, CPU: spec.CPU, Memory: spec.Memory,
		Image: spec.Image, Volumes: spec.Volumes, BootDisk: spec.BootDisk, PowerState: spec.PowerState,
	}
}

// Begun reports whether a revert has begun and its object is not restored, by the conditions of the virtual machine.
func Begun(all []metav1.Condition) bool {
	c := conditions.Find(all, vmv1alpha1.ConditionSnapshotSynced)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonReverting
}

// restore makes the object what it was at the snapshot that its virtual machine was reverted
// to: spec, with the size that it had then whatever has become of its instance type, labels
// and annotations. It is written at the end of the reconcile like everything else. The power state
// is that which the revert has brought back.
func (r *Reconciler) restore(ctx context.Context, vm *vmv1alpha1.VirtualMachine, kept *provider.Kept) (report Report) {
	then, err := r.restored(ctx, vm, kept.Record)
	if err != nil {
		report.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "vSphere has reverted the virtual machine; its object cannot be restored: "+err.Error())
		report.Again(controller.Poll)
		return report
	}
	vm.Spec, vm.Labels, vm.Annotations = then.Spec, then.Labels, then.Annotations
	report.Restored = true
	report.True(vmv1alpha1.ConditionSnapshotSynced)
	report.Again(0)
	return report
}

// Refused reports that the API has refused the restored object with err.
func Refused(err error) (report step.Report) {
	report.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting,
		"vSphere has reverted the virtual machine; its object is refused as it was then, and offered again: "+err.Error())
	report.Again(controller.Poll)
	return report
}

// restored is vm as the record of a snapshot has it. The revisions that it needs then exist.
func (r *Reconciler) restored(ctx context.Context, vm *vmv1alpha1.VirtualMachine, record string) (*vmv1alpha1.VirtualMachine, error) {
	was, err := vmrecord.Decode(record)
	if err != nil {
		return nil, err
	}
	if was.UID != vm.UID {
		return nil, fmt.Errorf("the record is that of %s/%s with UID %s", was.Namespace, was.Name, was.UID)
	}
	out := vm.DeepCopy()
	out.Spec = restoredSpec(&was.Spec, vm)
	out.Labels, out.Annotations = restoredKeys(vm.Labels, was.Labels), restoredKeys(vm.Annotations, was.Annotations)
	delete(out.Annotations, vmv1alpha1.AnnotationReverting)
	saved := make([]*itv1alpha1.ControllerRevision, len(was.Revisions))
	for i := range was.Revisions {
		saved[i] = &was.Revisions[i]
	}
	out, missing, err := instancetype.Adopt(ctx, out, saved, r.Reader)
	if err != nil {
		return nil, err
	}
	for _, revision := range missing {
		if err := synchronizer.Ensure(ctx, r.Revisions, revision); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// restoredSpec is the spec that the object had, without what asked for the revert. What says
// which virtual machine it is stays.
func restoredSpec(was *vmv1alpha1.VirtualMachineSpec, vm *vmv1alpha1.VirtualMachine) vmv1alpha1.VirtualMachineSpec {
	out := *was.DeepCopy()
	now := vm.Spec.DeepCopy()
	out.CurrentSnapshotName = ""
	if was.PowerState != "" || was.GroupName == "" { // A group says what its members are.
		out.PowerState = cmp.Or(vm.Status.PowerState, was.PowerState)
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

// restoredKeys are labels or annotations as they were, but for those that are not the user's:
// these stay as they are.
func restoredKeys(now, was map[string]string) map[string]string {
	out := maps.Clone(was)
	maps.DeleteFunc(out, func(key, _ string) bool { return !usersOwn(key) })
	for key, value := range now {
		if usersOwn(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}

// usersOwn is false for the keys of privileged users and of controllers, and for kubectl's copy
// of a manifest, which is compared with the next one that is applied.
func usersOwn(key string) bool {
	switch key {
	case vmv1alpha1.LabelImageCache, vmv1alpha1.AnnotationImageCacheLocation, corev1.LastAppliedConfigAnnotation:
		return false
	}
	return !vmv1alpha1.PrivilegedKey(key)
}
