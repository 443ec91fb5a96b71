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

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// collectRevisions deletes the revisions of the virtual machine that nothing refers
// to any more. It is called after status was written.
func (r *reconciler) collectRevisions(ctx context.Context, p *pass) error {
	owned, err := r.revisions.owned(p.vm.UID)
	if err != nil {
		return fmt.Errorf("listing the revisions of virtual machine %s: %w", p.key(), err)
	}
	if len(owned) == 0 {
		return nil
	}
	vmi, err := r.vmis.Get(p.key())
	if err != nil {
		return fmt.Errorf("reading the virtual machine instance: %w", err)
	}
	if len(instancetype.Unreferenced(p.vm, vmi, owned, nil)) == 0 {
		return nil
	}
	return r.deleteUnreferenced(ctx, p, vmi, owned)
}

// deleteUnreferenced deletes those of owned that nothing refers to, by what the server
// has of all virtual machines of the namespace now: a revision that is deleted cannot
// be captured again when its source has changed since, and any of them may pin it.
func (r *reconciler) deleteUnreferenced(
	ctx context.Context, p *pass, vmi *vmv1alpha1.VirtualMachineInstance, owned []*appsv1.ControllerRevision,
) error {
	all, err := r.client.VirtualMachines(p.vm.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the virtual machines of namespace %s before deleting old revisions of %s: %w", p.vm.Namespace, p.vm.Name, err)
	}
	live := slices.IndexFunc(all.Items, func(vm vmv1alpha1.VirtualMachine) bool { return vm.UID == p.vm.UID })
	if live < 0 {
		return nil
	}
	unreferenced := instancetype.Unreferenced(&all.Items[live], vmi, owned, all.Items)
	for _, revision := range owned {
		if !slices.Contains(unreferenced, revision.Name) {
			continue
		}
		if err := r.revisions.delete(ctx, revision); err != nil {
			return fmt.Errorf("deleting revision %s/%s: %w", revision.Namespace, revision.Name, err)
		}
		klog.FromContext(ctx).V(2).Info("Deleted a revision that nothing refers to", "revision", revision.Name)
	}
	return nil
}

// dropRevisions deletes the revisions of a virtual machine that is going and that no
// other refers to, because the next one of its name would have to wait until the
// garbage collector of the host cluster got to them. That does delete what fails here,
// so that nothing holds the deletion up, and leaves what has another owner. Who
// orphans the dependents keeps the revisions.
func (r *reconciler) dropRevisions(ctx context.Context, p *pass) {
	if slices.Contains(p.vm.Finalizers, metav1.FinalizerOrphanDependents) {
		return
	}
	owned, err := r.revisions.owned(p.vm.UID)
	if err == nil && len(owned) > 0 {
		err = r.deleteUnreferenced(ctx, p, nil, owned)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Deleting the revisions of a deleted virtual machine failed; they are left to the garbage collector")
	}
}
