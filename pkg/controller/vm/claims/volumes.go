// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims manages the claims of virtual machines in the management cluster: PersistentVolumeClaims for volumes
// and IPAddressClaims for addresses. It also reads their StorageClasses.
package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Indexes of claims by the virtual machines that hold them, and of VolumeAttachments by their volume.
const (
	indexByHolder = "holder"
	indexByVolume = "volume"
)

// callTimeout limits one request, within the context of the reconcile.
const callTimeout = 10 * time.Second

// Volumes reads and holds PersistentVolumeClaims. A virtual machine holds a claim by an annotation and a finalizer.
// Both are written by one request, which fails if another client has changed the claim. So only one virtual machine can
// hold a claim that is not shared, in all replicas. The finalizer protects the claim while its disk may be attached.
type Volumes struct {
	VMs    controller.Store[*vmv1alpha1.VirtualMachine]
	Client corev1client.PersistentVolumeClaimsGetter
	Claims controller.Store[*corev1.PersistentVolumeClaim]
	// ClaimsByHolder has the claims by their holders. Attachments has the VolumeAttachments by their volume.
	ClaimsByHolder    cache.Indexer
	PersistentVolumes cache.Store
	Attachments       cache.Indexer
	// Synced reports whether the caches are filled.
	Synced  []cache.InformerSynced
	factory informers.SharedInformerFactory
}

// VolumeReport is the result of Volumes.Reconcile.
type VolumeReport struct {
	step.Report
	// Claims has the claims that were read, by the name of the volume.
	Claims map[string]provider.ClaimDisk
}

// NewVolumes returns the Volumes for claims of the cluster of host. They are read after Start.
func NewVolumes(host kubernetes.Interface, vms controller.Store[*vmv1alpha1.VirtualMachine]) (*Volumes, error) {
	f := informers.NewSharedInformerFactoryWithOptions(host, 0, informers.WithTransform(controller.StripManagedFields))
	claimInformer, volumeInformer := f.Core().V1().PersistentVolumeClaims().Informer(), f.Core().V1().PersistentVolumes().Informer()
	attachmentInformer := f.Storage().V1().VolumeAttachments().Informer()
	err := errors.Join(
		claimInformer.AddIndexers(cache.Indexers{indexByHolder: func(obj any) ([]string, error) {
			var out []string
			if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
				for _, h := range Holders(claim) {
					out = append(out, string(h.UID))
				}
			}
			return out, nil
		}}),
		attachmentInformer.AddIndexers(cache.Indexers{indexByVolume: func(obj any) ([]string, error) {
			if a, ok := obj.(*storagev1.VolumeAttachment); ok && a.Spec.Source.PersistentVolumeName != nil {
				return []string{*a.Spec.Source.PersistentVolumeName}, nil
			}
			return nil, nil
		}}))
	if err != nil {
		return nil, fmt.Errorf("indexing claims: %w", err)
	}
	return &Volumes{
		VMs: vms, Client: host.CoreV1(), Claims: controller.NewStore[*corev1.PersistentVolumeClaim](claimInformer, false),
		ClaimsByHolder: claimInformer.GetIndexer(), PersistentVolumes: volumeInformer.GetStore(), Attachments: attachmentInformer.GetIndexer(),
		Synced:  []cache.InformerSynced{claimInformer.HasSynced, volumeInformer.HasSynced, attachmentInformer.HasSynced},
		factory: f,
	}, nil
}

// Related returns a handler that queues virtual machines. by returns the index value of an object.
type Related func(by func(metav1.Object) string) cache.ResourceEventHandler

// Start reads the objects until ctx is done. It queues the virtual machines that are affected by a claim, its volume or
// its attachment: those that refer to the claim and those that hold it. The returned function waits until reading has
// ended. Only virtual machines with claims wait until the caches are filled.
func (v *Volumes) Start(ctx context.Context, related Related, wake func(types.NamespacedName)) (end func(), err error) {
	core := v.factory.Core().V1()
	_, err = controller.Register([]controller.Source{
		{Informer: core.PersistentVolumeClaims().Informer(), Handler: v.Claims.Handler()},
		{Informer: core.PersistentVolumeClaims().Informer(), Handler: related(func(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() })},
		{Informer: core.PersistentVolumeClaims().Informer(), Handler: wakeHolders(wake)},
		{Informer: core.PersistentVolumes().Informer(), Handler: related(byClaimRef)},
		{Informer: v.factory.Storage().V1().VolumeAttachments().Informer(), Handler: related(func(o metav1.Object) string {
			a, ok := o.(*storagev1.VolumeAttachment)
			if !ok || a.Spec.Source.PersistentVolumeName == nil {
				return ""
			}
			if volume, err := v.volume(*a.Spec.Source.PersistentVolumeName); err == nil && volume != nil {
				return byClaimRef(volume)
			}
			return ""
		})},
	}...)
	if err != nil {
		return nil, err
	}
	v.factory.StartWithContext(ctx)
	return v.factory.Shutdown, nil
}

func byClaimRef(o metav1.Object) string {
	if pv, ok := o.(*corev1.PersistentVolume); ok && pv.Spec.ClaimRef != nil {
		return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
	}
	return ""
}

func wakeHolders(wake func(types.NamespacedName)) cache.ResourceEventHandler {
	all := func(obj any) {
		if claim, ok := controller.WithoutTombstone[*corev1.PersistentVolumeClaim](obj); ok {
			for _, h := range Holders(claim) {
				wake(types.NamespacedName{Namespace: claim.Namespace, Name: h.Name})
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) { all(obj) }, DeleteFunc: all}
}

// hasSynced reports whether all caches are filled.
func (v *Volumes) hasSynced() bool {
	return !slices.ContainsFunc(v.Synced, func(synced cache.InformerSynced) bool { return !synced() })
}

func (v *Volumes) volume(name string) (*corev1.PersistentVolume, error) {
	obj, ok, err := v.PersistentVolumes.GetByKey(name)
	if err != nil || !ok {
		return nil, err
	}
	pv, _ := obj.(*corev1.PersistentVolume)
	return pv, nil
}

// claimState reads a claim and its related objects from the caches.
func (v *Volumes) claimState(key types.NamespacedName) (*claimState, error) {
	claim, err := v.Claims.Get(key)
	if err != nil || claim == nil {
		return &claimState{}, err
	}
	volume, err := v.volume(claim.Spec.VolumeName)
	if err != nil || volume == nil {
		return &claimState{claim: claim}, err
	}
	found, err := v.Attachments.ByIndex(indexByVolume, volume.Name)
	if err != nil {
		return nil, err
	}
	var attachments []*storagev1.VolumeAttachment
	for _, obj := range found {
		if a, ok := obj.(*storagev1.VolumeAttachment); ok {
			attachments = append(attachments, a)
		}
	}
	return &claimState{claim: claim, volume: volume, nodes: nodesOf(attachments)}, nil
}

// heldNames returns the names of the claims that vm may hold. These are the claims in the index, which may lack this
// process's latest writes, and the claims in the spec of vm.
func (v *Volumes) heldNames(vm *vmv1alpha1.VirtualMachine) ([]string, error) {
	keys, err := v.ClaimsByHolder.IndexKeys(indexByHolder, string(vm.UID))
	if err != nil {
		return nil, err
	}
	names := ClaimNames(vm)
	for _, key := range keys {
		if namespace, name, err := cache.SplitMetaNamespaceKey(key); err == nil && namespace == vm.Namespace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// hold makes vm a holder of the claim.
func (v *Volumes) hold(ctx context.Context, claim *corev1.PersistentVolumeClaim, vm *vmv1alpha1.VirtualMachine, volumeID string) error {
	finalizers := claim.Finalizers
	if !slices.Contains(finalizers, vmv1alpha1.ClaimFinalizer) {
		finalizers = append(slices.Clone(finalizers), vmv1alpha1.ClaimFinalizer)
	}
	return v.patch(ctx, claim, finalizers, vm.UID, vm.Name+"/"+volumeID)
}

// release removes the holder with the UID from the claim.
func (v *Volumes) release(ctx context.Context, claim *corev1.PersistentVolumeClaim, uid types.UID) error {
	finalizers := claim.Finalizers
	if left := Holders(claim); len(left) == 1 && left[0].UID == uid {
		finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == vmv1alpha1.ClaimFinalizer })
	}
	err := v.patch(ctx, claim, finalizers, uid, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patch writes a claim's finalizers and the annotation of one holder. It fails if the claim has changed since it was
// read.
func (v *Volumes) patch(ctx context.Context, claim *corev1.PersistentVolumeClaim, finalizers []string, uid types.UID, value any) error {
	if finalizers == nil {
		finalizers = []string{}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": claim.UID, "resourceVersion": claim.ResourceVersion, "finalizers": finalizers,
		"annotations": map[string]any{vmv1alpha1.AnnotationClaimHolderPrefix + string(uid): value},
	}})
	if err != nil {
		return fmt.Errorf("writing a patch of PersistentVolumeClaim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	written, err := v.Client.PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("updating PersistentVolumeClaim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	v.Claims.RecordWrite(written)
	return nil
}

// reportUnsynced reports that the caches of the management cluster are not filled. This lasts forever if the server has
// no permission to read the objects.
func reportUnsynced() (report step.Report) {
	report.Wait = true
	report.Set(vmv1alpha1.ConditionVolumesReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "the claims of the management cluster are not read yet")
	report.RequeueAfter(controller.Soon)
	return report
}

// Reconcile returns how each claim in the spec is attached, and holds the claims that can be attached. It makes
// requests only for claims that are not held yet.
func (v *Volumes) Reconcile(ctx context.Context, s step.State) (report VolumeReport, _ error) {
	names := ClaimNames(s.VM)
	if len(names) == 0 {
		report.Remove(vmv1alpha1.ConditionVolumesReady)
		return report, nil
	}
	if !v.hasSynced() {
		return VolumeReport{Report: reportUnsynced()}, nil
	}
	report.Claims = make(map[string]provider.ClaimDisk, len(names))
	var reasons, messages []string
	var errs []error
	for i := range s.VM.Spec.Volumes {
		volume := &s.VM.Spec.Volumes[i]
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim, trouble, err := v.reconcileClaim(ctx, &report.Report, s.VM, volume)
		errs = append(errs, err)
		if trouble != nil {
			reasons, messages = append(reasons, trouble.reason), append(messages, trouble.message)
		}
		report.Claims[volume.Name] = claim
	}
	if report.Wait = len(reasons) > 0; report.Wait {
		report.False(vmv1alpha1.ConditionVolumesReady, reasons[0], conditions.JoinLimited(messages, "; "))
	} else {
		report.True(vmv1alpha1.ConditionVolumesReady)
	}
	return report, errors.Join(errs...)
}

func (v *Volumes) reconcileClaim(ctx context.Context, report *step.Report, vm *vmv1alpha1.VirtualMachine, volume *vmv1alpha1.VirtualMachineVolume) (provider.ClaimDisk, *claimProblem, error) {
	key := types.NamespacedName{Namespace: vm.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}
	facts, err := v.claimState(key)
	if err != nil {
		return provider.ClaimDisk{}, nil, fmt.Errorf("reading PersistentVolumeClaim %s: %w", key, err)
	}
	facts.exists = func(h Holder) bool {
		other, err := v.VMs.Get(types.NamespacedName{Namespace: key.Namespace, Name: h.Name})
		return err == nil && other != nil && other.UID == h.UID
	}
	claim, trouble := facts.evaluate(vm, volume)
	if trouble != nil || HeldBy(facts.claim, vm.UID) {
		return claim, trouble, nil
	}
	err = v.hold(ctx, facts.claim, vm, claim.VolumeID)
	switch {
	case err == nil:
		return claim, nil, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		report.RequeueAfter(controller.ShortConflict)
		claim.WaitingReason = fmt.Sprintf("PersistentVolumeClaim %q has changed and is read again", key.Name)
		return claim, &claimProblem{vmv1alpha1.ReasonInProgress, claim.WaitingReason}, nil
	}
	claim.WaitingReason = err.Error()
	return claim, &claimProblem{vmv1alpha1.ReasonError, claim.WaitingReason}, err
}

// Release releases the claims that are no longer in the spec and whose disks were observed as detached.
func (v *Volumes) Release(ctx context.Context, s step.State) (step.Report, error) {
	if !s.Observed.RetainedDisksKnown {
		return step.Report{}, nil
	}
	names := ClaimNames(s.VM)
	return v.releaseIf(ctx, s.VM, func(claim *corev1.PersistentVolumeClaim, h Holder) bool {
		return !slices.Contains(names, claim.Name) && !slices.Contains(s.Observed.Observation.RetainedDisks, h.VolumeID)
	})
}

// ReleaseAll releases all claims of a virtual machine that is being deleted. Its disks are detached. If the vSphere VM
// is kept, it keeps its disks, and vSphere prevents other VMs from using them.
func (v *Volumes) ReleaseAll(ctx context.Context, s step.State) (step.Report, error) {
	if usesClaims(s.VM) && !v.hasSynced() {
		return reportUnsynced(), nil
	}
	return v.releaseIf(ctx, s.VM, func(*corev1.PersistentVolumeClaim, Holder) bool { return true })
}

// releaseIf releases the virtual machine's claims for which free returns true.
func (v *Volumes) releaseIf(ctx context.Context, vm *vmv1alpha1.VirtualMachine, free func(*corev1.PersistentVolumeClaim, Holder) bool) (report step.Report, _ error) {
	names, err := v.heldNames(vm)
	if err != nil {
		return report, fmt.Errorf("looking for the claims of virtual machine %s: %w", controller.KeyOf(vm), err)
	}
	var errs []error
	for _, name := range names {
		claim, err := v.Claims.Get(types.NamespacedName{Namespace: vm.Namespace, Name: name})
		if err != nil || claim == nil {
			errs = append(errs, err)
			continue
		}
		for _, h := range Holders(claim) {
			if h.UID != vm.UID || !free(claim, h) {
				continue
			}
			if err := v.release(ctx, claim, h.UID); apierrors.IsConflict(err) {
				report.Wait = true
				report.RequeueAfter(controller.ShortConflict)
			} else {
				errs = append(errs, err)
			}
		}
	}
	return report, errors.Join(errs...)
}
