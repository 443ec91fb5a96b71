// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Indexes of claims by the virtual machines that hold them, and of VolumeAttachments by
// their volume.
const (
	indexByHolder = "holder"
	indexByVolume = "volume"
)

// claims reads and holds the claims of the host cluster. A claim is held by an annotation
// and a finalizer, written by one request that fails if somebody else wrote the claim in
// between: so one virtual machine holds a claim that only one can, whatever replica or
// process asks for it, and the claim stays as long as its disk may be attached.
type claims struct {
	factory     informers.SharedInformerFactory
	client      corev1client.PersistentVolumeClaimsGetter
	claims      controller.Store[*corev1.PersistentVolumeClaim]
	indexed     cache.Indexer
	volumes     cache.Store
	attachments cache.Indexer
	synced      []cache.InformerSynced
}

func newClaims(host kubernetes.Interface) (*claims, error) {
	f := informers.NewSharedInformerFactoryWithOptions(host, 0, informers.WithTransform(controller.AsKept))
	claimInformer, volumeInformer := f.Core().V1().PersistentVolumeClaims().Informer(), f.Core().V1().PersistentVolumes().Informer()
	attachmentInformer := f.Storage().V1().VolumeAttachments().Informer()
	err := errors.Join(
		claimInformer.AddIndexers(cache.Indexers{indexByHolder: func(obj any) ([]string, error) {
			var out []string
			if claim, ok := obj.(*corev1.PersistentVolumeClaim); ok {
				for _, h := range holders(claim) {
					out = append(out, string(h.uid))
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
	return &claims{
		factory: f, client: host.CoreV1(),
		claims:  controller.NewStore[*corev1.PersistentVolumeClaim](claimInformer, false),
		indexed: claimInformer.GetIndexer(), volumes: volumeInformer.GetStore(), attachments: attachmentInformer.GetIndexer(),
		synced: []cache.InformerSynced{claimInformer.HasSynced, volumeInformer.HasSynced, attachmentInformer.HasSynced},
	}, nil
}

// start reads until ctx is done, and wakes the virtual machines that a claim, its volume or an attachment of that
// concerns: those that name the claim and those that hold it. end waits until it has ended. Only virtual machines with
// claims wait until these are read.
func (c *claims) start(ctx context.Context, e *enqueuer) (end func(), err error) {
	core := c.factory.Core().V1()
	_, err = controller.Register([]controller.Source{
		{Informer: core.PersistentVolumeClaims().Informer(), Handler: c.claims.Handler()},
		{Informer: core.PersistentVolumeClaims().Informer(), Handler: e.Related(indexByClaim, byName)},
		{Informer: core.PersistentVolumeClaims().Informer(), Handler: wakeHolders(e)},
		{Informer: core.PersistentVolumes().Informer(), Handler: e.Related(indexByClaim, byClaimRef)},
		{Informer: c.factory.Storage().V1().VolumeAttachments().Informer(), Handler: e.Related(indexByClaim, func(o metav1.Object) string {
			a, ok := o.(*storagev1.VolumeAttachment)
			if !ok || a.Spec.Source.PersistentVolumeName == nil {
				return ""
			}
			if volume, err := c.volume(*a.Spec.Source.PersistentVolumeName); err == nil && volume != nil {
				return byClaimRef(volume)
			}
			return ""
		})},
	}...)
	if err != nil {
		return nil, err
	}
	c.factory.StartWithContext(ctx)
	return c.factory.Shutdown, nil
}

func byClaimRef(o metav1.Object) string {
	if pv, ok := o.(*corev1.PersistentVolume); ok && pv.Spec.ClaimRef != nil {
		return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
	}
	return ""
}

func wakeHolders(e *enqueuer) cache.ResourceEventHandler {
	wake := func(obj any) {
		if claim, ok := controller.WithoutTombstone[*corev1.PersistentVolumeClaim](obj); ok {
			for _, h := range holders(claim) {
				e.Generic(types.NamespacedName{Namespace: claim.Namespace, Name: h.name})
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) { wake(obj) }, DeleteFunc: wake}
}

// read is true when all caches are filled.
func (c *claims) read() bool {
	return !slices.ContainsFunc(c.synced, func(synced cache.InformerSynced) bool { return !synced() })
}

func (c *claims) volume(name string) (*corev1.PersistentVolume, error) {
	obj, ok, err := c.volumes.GetByKey(name)
	if err != nil || !ok {
		return nil, err
	}
	pv, _ := obj.(*corev1.PersistentVolume)
	return pv, nil
}

// facts are what the caches have of a claim.
func (c *claims) facts(key types.NamespacedName) (*claimFacts, error) {
	claim, err := c.claims.Get(key)
	if err != nil || claim == nil {
		return &claimFacts{}, err
	}
	volume, err := c.volume(claim.Spec.VolumeName)
	if err != nil || volume == nil {
		return &claimFacts{claim: claim}, err
	}
	found, err := c.attachments.ByIndex(indexByVolume, volume.Name)
	if err != nil {
		return nil, err
	}
	var attachments []*storagev1.VolumeAttachment
	for _, obj := range found {
		if a, ok := obj.(*storagev1.VolumeAttachment); ok {
			attachments = append(attachments, a)
		}
	}
	return &claimFacts{claim: claim, volume: volume, nodes: nodesOf(attachments)}, nil
}

// held are the names of the claims that vm may hold: those that the index has, which may be behind
// by what this process wrote, and those that vm names.
func (c *claims) held(vm *vmv1alpha1.VirtualMachine) ([]string, error) {
	keys, err := c.indexed.IndexKeys(indexByHolder, string(vm.UID))
	if err != nil {
		return nil, err
	}
	names := claimNames(vm)
	for _, key := range keys {
		if namespace, name, err := cache.SplitMetaNamespaceKey(key); err == nil && namespace == vm.Namespace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// hold lets vm hold the claim.
func (c *claims) hold(ctx context.Context, claim *corev1.PersistentVolumeClaim, vm *vmv1alpha1.VirtualMachine, volumeID string) error {
	finalizers := claim.Finalizers
	if !slices.Contains(finalizers, vmv1alpha1.ClaimFinalizer) {
		finalizers = append(slices.Clone(finalizers), vmv1alpha1.ClaimFinalizer)
	}
	return c.patch(ctx, claim, finalizers, vm.UID, vm.Name+"/"+volumeID)
}

// release ends the hold that the virtual machine with the UID has of the claim.
func (c *claims) release(ctx context.Context, claim *corev1.PersistentVolumeClaim, uid types.UID) error {
	finalizers := claim.Finalizers
	if left := holders(claim); len(left) == 1 && left[0].uid == uid {
		finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == vmv1alpha1.ClaimFinalizer })
	}
	err := c.patch(ctx, claim, finalizers, uid, nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patch writes the finalizers of a claim and the annotation of one holder, if the claim is
// still as it was read.
func (c *claims) patch(ctx context.Context, claim *corev1.PersistentVolumeClaim, finalizers []string, uid types.UID, value any) error {
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
	written, err := c.client.PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("updating PersistentVolumeClaim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	c.claims.Wrote(written)
	return nil
}

// awaitClaims says that the caches of the host cluster are waited for, as for ever by a server that
// may not read them.
func (p *pass) awaitClaims() {
	setCondition(p.VM, p.Now, vmv1alpha1.ConditionVolumesReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "the claims of the cluster are not read yet")
	p.Again(controller.Soon)
}

// gatherClaims says of every claim that the virtual machine names how it is attached, and
// holds those that can be. It makes a request only for one that is not held yet.
func (r *reconciler) gatherClaims(ctx context.Context, p *pass) error {
	names := claimNames(p.VM)
	if len(names) == 0 {
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionVolumesReady)
		return nil
	}
	if !r.claims.read() {
		p.awaitClaims()
		return nil
	}
	p.claims = make(map[string]provider.Claim, len(names))
	var troubles []claimTrouble
	var errs []error
	for i := range p.VM.Spec.Volumes {
		v := &p.VM.Spec.Volumes[i]
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, trouble, err := r.gatherClaim(ctx, p, v)
		errs = append(errs, err)
		if trouble != nil {
			troubles = append(troubles, *trouble)
		}
		p.claims[v.Name] = claim
	}
	if len(troubles) == 0 {
		setTrue(p.VM, p.Now, vmv1alpha1.ConditionVolumesReady)
		return errors.Join(errs...)
	}
	var messages []string
	for _, t := range troubles {
		messages = append(messages, t.message)
	}
	setFalse(p.VM, p.Now, vmv1alpha1.ConditionVolumesReady, troubles[0].reason, conditions.List(messages, "; "))
	return errors.Join(errs...)
}

func (r *reconciler) gatherClaim(ctx context.Context, p *pass, v *vmv1alpha1.VirtualMachineVolume) (provider.Claim, *claimTrouble, error) {
	key := types.NamespacedName{Namespace: p.VM.Namespace, Name: v.PersistentVolumeClaim.ClaimName}
	facts, err := r.claims.facts(key)
	if err != nil {
		return provider.Claim{}, nil, fmt.Errorf("reading PersistentVolumeClaim %s: %w", key, err)
	}
	facts.exists = func(h holder) bool {
		other, err := r.vms.Get(types.NamespacedName{Namespace: key.Namespace, Name: h.name})
		return err == nil && other != nil && other.UID == h.uid
	}
	claim, trouble := facts.judge(p.VM, v)
	if trouble != nil || heldBy(facts.claim, p.VM.UID) {
		return claim, trouble, nil
	}
	err = r.claims.hold(ctx, facts.claim, p.VM, claim.VolumeID)
	switch {
	case err == nil:
		return claim, nil, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		p.Again(controller.ShortConflict)
		claim.Waiting = fmt.Sprintf("PersistentVolumeClaim %q has changed and is read again", key.Name)
		return claim, &claimTrouble{vmv1alpha1.ReasonInProgress, claim.Waiting}, nil
	}
	claim.Waiting = err.Error()
	return claim, &claimTrouble{vmv1alpha1.ReasonError, claim.Waiting}, err
}

// releaseClaims ends the hold of claims that the virtual machine names no more, and whose
// disks it was seen without.
func (r *reconciler) releaseClaims(ctx context.Context, p *pass) error {
	if !p.Observed.AttachedKnown {
		return nil
	}
	names := claimNames(p.VM)
	return r.releaseIf(ctx, p, func(claim *corev1.PersistentVolumeClaim, h holder) bool {
		return !slices.Contains(names, claim.Name) && !slices.Contains(p.Observed.Attached, h.volumeID)
	})
}

// releaseIf ends the hold of those claims of the virtual machine for which free is true.
func (r *reconciler) releaseIf(ctx context.Context, p *pass, free func(*corev1.PersistentVolumeClaim, holder) bool) error {
	names, err := r.claims.held(p.VM)
	if err != nil {
		return fmt.Errorf("looking for the claims of virtual machine %s: %w", p.Key(), err)
	}
	var errs []error
	for _, name := range names {
		claim, err := r.claims.claims.Get(types.NamespacedName{Namespace: p.VM.Namespace, Name: name})
		if err != nil || claim == nil {
			errs = append(errs, err)
			continue
		}
		for _, h := range holders(claim) {
			if h.uid != p.VM.UID || !free(claim, h) {
				continue
			}
			if err := r.claims.release(ctx, claim, h.uid); apierrors.IsConflict(err) {
				p.Again(controller.ShortConflict)
			} else {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
