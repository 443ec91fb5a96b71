// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

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
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// revertTarget is the snapshot that spec names, if the virtual machine can be reverted to it.
// Otherwise refused, if it names one, says why not in a condition: after the pass, for until
// then the condition says whether a revert has begun.
func (r *reconciler) revertTarget(p *pass) (to *provider.RevertTarget, refused func(), err error) {
	name := p.VM.Spec.CurrentSnapshotName
	if name == "" {
		return nil, nil, nil
	}
	refuse := func(reason, format string, args ...any) (*provider.RevertTarget, func(), error) {
		return nil, func() {
			p.False(vmv1alpha1.ConditionSnapshotSynced, reason, fmt.Sprintf("spec.currentSnapshotName: VirtualMachineSnapshot %q ", name)+fmt.Sprintf(format, args...))
		}, nil
	}
	s, err := r.snapshots.VirtualMachineSnapshots(p.VM.Namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return refuse(vmv1alpha1.ReasonNotFound, "does not exist in namespace %q", p.VM.Namespace)
	case err != nil:
		return nil, nil, fmt.Errorf("reading snapshot %s/%s: %w", p.VM.Namespace, name, err)
	case s.Spec.VMName == p.VM.Name && provider.MachineOf(s) == "":
		return refuse(vmv1alpha1.ReasonNotReady, "is not looked at yet")
	case s.Spec.VMName != p.VM.Name || provider.MachineOf(s) != p.VM.UID:
		return refuse(vmv1alpha1.ReasonInvalid, "is not one of this virtual machine")
	case !conditions.IsTrue(s.Status.Conditions, vmv1alpha1.ConditionReady):
		return refuse(vmv1alpha1.ReasonNotReady, "is not Ready")
	}
	return &provider.RevertTarget{Name: s.Name, UID: s.UID, UniqueID: s.Status.UniqueID, Admit: r.admitRevert(p.Key(), s)}, nil, nil
}

// admitRevert returns the check of a revert to s, which is called with the record before vSphere begins: the API must
// accept the object as it will be restored, and ResourceQuotas are charged for it until it is restored.
func (r *reconciler) admitRevert(key types.NamespacedName, s *vmv1alpha1.VirtualMachineSnapshot) func(context.Context, string) error {
	return func(ctx context.Context, record string) error {
		client := r.client.VirtualMachines(key.Namespace)
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
			r.vms.Wrote(written)
			return nil
		})
	}
}

// dropCharge ends the charge for a revert that was withdrawn.
func (p *pass) dropCharge() {
	if _, charged := p.VM.Annotations[vmv1alpha1.AnnotationReverting]; charged {
		p.VM.Annotations = maps.Clone(p.VM.Annotations)
		delete(p.VM.Annotations, vmv1alpha1.AnnotationReverting)
	}
}

// chargedSpec is the part of a spec that ResourceQuotas are charged for.
func chargedSpec(spec *vmv1alpha1.VirtualMachineSpec) *vmv1alpha1.VirtualMachineSpec {
	return &vmv1alpha1.VirtualMachineSpec{
		ClassName: spec.ClassName, Instancetype: spec.Instancetype, Preference: spec.Preference, CPU: spec.CPU, Memory: spec.Memory,
		Image: spec.Image, Volumes: spec.Volumes, BootDisk: spec.BootDisk, PowerState: spec.PowerState,
	}
}

// reverting is true from when a revert is begun until its object is restored, by the conditions of the virtual machine.
func reverting(all []metav1.Condition) bool {
	c := conditions.Find(all, vmv1alpha1.ConditionSnapshotSynced)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == vmv1alpha1.ReasonReverting
}

// mayRevert is true while a revert that has begun may still run, by the answer of the provider: its
// condition, by which the object is restored after it, must not say something else.
func mayRevert(answer error) bool {
	return errors.Is(answer, provider.ErrReconcileInProgress) || errors.Is(answer, provider.ErrUnknownState)
}

// restore makes the object what it was at the snapshot that its virtual machine was reverted
// to: spec, with the size that it had then whatever has become of its instance type, labels
// and annotations. It is written at the end of the pass like everything else. The power state
// is that which the revert has brought back.
func (r *reconciler) restore(ctx context.Context, p *pass, kept *provider.Kept) error {
	fail := func(err error) error {
		p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "vSphere has reverted the virtual machine; its object cannot be restored: "+err.Error())
		p.Again(controller.Poll)
		return nil
	}
	vm, err := r.restored(ctx, p.VM, kept.Record)
	if err != nil {
		return fail(err)
	}
	p.VM.Spec, p.VM.Labels, p.VM.Annotations = vm.Spec, vm.Labels, vm.Annotations
	p.restoring = true
	p.True(vmv1alpha1.ConditionSnapshotSynced)
	p.Again(0)
	return nil
}

// restored is vm as the record of a snapshot has it. The revisions that it needs then exist.
func (r *reconciler) restored(ctx context.Context, vm *vmv1alpha1.VirtualMachine, record string) (*vmv1alpha1.VirtualMachine, error) {
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
	out, missing, err := instancetype.Adopt(ctx, out, saved, r.reader)
	if err != nil {
		return nil, err
	}
	for _, revision := range missing {
		if err := synchronizer.Ensure(ctx, r.revisions, revision); err != nil {
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

// restoreRefused takes the restored object back that the API has refused, so that status says
// why.
func (p *pass) restoreRefused(err error) {
	p.takeBack()
	p.False(vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting,
		"vSphere has reverted the virtual machine; its object is refused as it was then, and offered again: "+err.Error())
	p.merge()
	p.Next.Requeue = false
	p.Again(controller.Poll)
}
