// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// collectRevisions deletes the revisions of the virtual machine that neither it
// nor its instance refers to any more. It is called after status was written, and
// looks at the stored object once more before it deletes, because what is deleted
// cannot be captured again when the instance type has changed since.
func (r *reconciler) collectRevisions(ctx context.Context, p *pass) error {
	owned, err := r.revisions.owned(p.vm.UID)
	if err != nil {
		return fmt.Errorf("listing the revisions of virtual machine %s: %w", p.key(), err)
	}
	if len(owned) == 0 {
		return nil
	}
	vmi, err := r.vmis.get(p.key())
	if err != nil {
		return fmt.Errorf("reading the virtual machine instance: %w", err)
	}
	if len(instancetype.Unreferenced(p.vm, vmi, owned)) == 0 {
		return nil
	}
	live, err := r.client.VirtualMachines(p.vm.Namespace).Get(ctx, p.vm.Name, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(fmt.Errorf("reading virtual machine %s before deleting its old revisions: %w", p.key(), err))
	}
	if live.UID != p.vm.UID {
		return nil
	}
	byName := map[string]*appsv1.ControllerRevision{}
	for _, revision := range owned {
		byName[revision.Name] = revision
	}
	for _, name := range instancetype.Unreferenced(live, vmi, owned) {
		if err := r.revisions.delete(ctx, byName[name]); err != nil {
			return fmt.Errorf("deleting revision %s/%s: %w", p.vm.Namespace, name, err)
		}
		klog.FromContext(ctx).V(2).Info("Deleted a revision that nothing refers to", "revision", name)
	}
	return nil
}

// dropRevisions deletes the revisions of a virtual machine that is going, because
// the next one of its name would have to wait until the garbage collector of the
// host cluster got to them. That does delete what fails here, so that nothing holds
// the deletion up. Who orphans the dependents keeps the revisions.
func (r *reconciler) dropRevisions(ctx context.Context, p *pass) {
	if slices.Contains(p.vm.Finalizers, metav1.FinalizerOrphanDependents) {
		return
	}
	log := klog.FromContext(ctx)
	owned, err := r.revisions.owned(p.vm.UID)
	if err != nil {
		log.Error(err, "Listing the revisions of a deleted virtual machine failed; they are left to the garbage collector")
		return
	}
	for _, revision := range owned {
		if err := r.revisions.delete(ctx, revision); err != nil {
			log.Error(err, "Deleting a revision of a deleted virtual machine failed; it is left to the garbage collector", "revision", revision.Name)
		}
	}
}
