// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// reconcileDelete removes the vSphere virtual machine and the running instance, then
// the finalizer. Of what the virtual machine refers to only the claims of its addresses are
// looked at, so nothing else that is missing can hold the deletion up.
func (r *reconciler) reconcileDelete(ctx context.Context, p *pass) error {
	if p.pauses("deletion") {
		return nil
	}
	if !hasFinalizer(p.VM) {
		summarize(p.VM)
		r.forget(p.Key())
		return nil
	}
	vmi, err := r.instance.Instances.Get(p.Key())
	if err != nil {
		return fmt.Errorf("reading the virtual machine instance: %w", err)
	}
	if p.Instance = controller.IfOwned(vmi, p.VM); p.Instance != nil {
		// What it runs with says how long its guest may take to shut down.
		p.Effective = &p.Instance.Spec
	}
	p.Remove(vmv1alpha1.ConditionPaused)
	req := &provider.Request{}
	r.complete(p, req)
	if held := p.VM.HeldDeletion(); held != "" {
		result, err := r.provider.ReportVirtualMachine(ctx, req)
		p.observe(result)
		p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonHeldByCheck, "deletion is "+held)
		return p.outcome(err, "reading")
	}
	p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonDeleting, "")

	if _, skip := p.VM.Annotations[vmv1alpha1.AnnotationSkipDelete]; !skip {
		// One that cannot be told counts as the default: what was copied says itself that it was.
		if req.FastDeploy, err = r.imageCache.Mode(ctx, p.VM); err != nil {
			req.FastDeploy = r.imageCache.Default
		}
		result, err := r.provider.DeleteVirtualMachine(ctx, req)
		p.observe(result)
		if err != nil {
			p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonDeleting, deleteTrouble(err))
			return p.outcome(err, "deleting")
		}
		// Only now, for until now the guest may have used them; and not those of a vSphere
		// VM that is left behind.
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

// deleteTrouble is what a user should know about an error of a deletion; nothing
// when it only says to wait.
func deleteTrouble(err error) string {
	var again *provider.RequeueError
	switch {
	case errors.Is(err, provider.ErrReconcileInProgress), errors.Is(err, provider.ErrTooManyOperations), errors.Is(err, provider.ErrPaused):
		return ""
	case errors.As(err, &again):
		return again.Reason
	}
	return err.Error()
}
