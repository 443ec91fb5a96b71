// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
)

// AddressClaims claims addresses of pools; addressclaim.Claims is one.
type AddressClaims interface {
	// Get claims one address, and returns it as soon as it is given.
	Get(ctx context.Context, vm *vmv1alpha1.VirtualMachine, want vmv1alpha1.ClaimedAddress) (vmv1alpha1.ClaimedAddress, error)
	// Held says what is wrong with the claim of an address in use; empty for nothing. It
	// asks nobody.
	Held(vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) string
	// Release gives an address back that nothing uses any more.
	Release(ctx context.Context, vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) error
	// Run tells of virtual machines whose claims change, until ctx is done.
	Run(ctx context.Context, changed func(types.NamespacedName))
}

// claimAddresses claims what the interfaces name pools for, and gives the effective spec
// what it has got. Each step is in the status before the next one is taken: the name of a
// claim before that is made, and an address before a virtual machine gets it. So
// whatever becomes of this process or of the spec, what was claimed is known.
func (r *reconciler) claimAddresses(ctx context.Context, p *pass) error {
	if p.Effective == nil {
		return nil
	}
	wanted := addressclaim.Wanted(p.VM, p.Effective.Network)
	if len(wanted)+len(p.VM.Status.ClaimedAddresses) == 0 {
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionAddressesReady)
		return nil
	}
	all, dropped := addressclaim.Merge(wanted, p.VM.Status.ClaimedAddresses)
	var errs []error
	for _, c := range dropped {
		if err := r.addresses.Release(ctx, p.VM, c); err != nil {
			all, errs = append(all, c), append(errs, err)
		}
	}
	var lacks lack
	for n := range wanted {
		lacks.note(r.claimAddress(ctx, p, &all[n]))
	}
	p.VM.Status.ClaimedAddresses = all
	switch {
	case len(wanted) == 0:
		meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionAddressesReady)
	case lacks.reason != "":
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionAddressesReady, lacks.reason, strings.Join(lacks.messages, "; "))
		p.Again(controller.Recheck)
	default:
		setTrue(p.VM, p.Now, vmv1alpha1.ConditionAddressesReady)
	}
	if len(wanted) > 0 {
		effective := *p.Effective
		effective.Network = addressclaim.Apply(effective.Network, all)
		p.Effective = &effective
	}
	return errors.Join(append(errs, lacks.err)...)
}

// claimAddress takes the next step towards one address.
func (r *reconciler) claimAddress(ctx context.Context, p *pass, c *vmv1alpha1.ClaimedAddress) error {
	switch {
	case c.Address != "":
		if trouble := r.addresses.Held(p.VM, *c); trouble != "" {
			return &addressclaim.WaitError{Message: trouble}
		}
		return nil
	case !recorded(p.Stored, *c):
		p.Again(0)
		return &addressclaim.WaitError{Message: fmt.Sprintf("IPAddressClaim %q is about to be made for pool %q", c.ClaimName, c.Pool.Name)}
	}
	got, err := r.addresses.Get(ctx, p.VM, *c)
	if err == nil {
		*c = got
		p.Again(0)
	}
	return err
}

// recorded is true for what the stored status has.
func recorded(stored *vmv1alpha1.VirtualMachine, c vmv1alpha1.ClaimedAddress) bool {
	return slices.ContainsFunc(stored.Status.ClaimedAddresses, func(s vmv1alpha1.ClaimedAddress) bool {
		return s.ClaimName == c.ClaimName && s.Address == c.Address
	})
}

// addressesRecorded is true when the stored status has all addresses that vm is to get.
func (p *pass) addressesRecorded() bool {
	return !slices.ContainsFunc(p.VM.Status.ClaimedAddresses, func(c vmv1alpha1.ClaimedAddress) bool { return !recorded(p.Stored, c) })
}

// releaseAddresses gives back what was claimed for a virtual machine that is gone.
func (r *reconciler) releaseAddresses(ctx context.Context, p *pass) error {
	var errs []error
	p.VM.Status.ClaimedAddresses = slices.DeleteFunc(p.VM.Status.ClaimedAddresses, func(c vmv1alpha1.ClaimedAddress) bool {
		err := r.addresses.Release(ctx, p.VM, c)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// lack is what addresses wait for.
type lack struct {
	reason   string
	messages []string
	// err is what a retry may cure.
	err error
}

// note takes down what one address waits for. The worst of several reasons counts.
func (l *lack) note(err error) {
	if err == nil {
		return
	}
	var absent *addressclaim.AbsentError
	var invalid *addressclaim.InvalidError
	var waits *addressclaim.WaitError
	reason := vmv1alpha1.ReasonNotReady
	switch {
	case errors.As(err, &waits):
	case errors.As(err, &absent):
		reason = vmv1alpha1.ReasonNotFound
	case errors.As(err, &invalid):
		reason = vmv1alpha1.ReasonInvalid
	default:
		reason = vmv1alpha1.ReasonError
		l.err = errors.Join(l.err, err)
	}
	if l.reason == "" || l.reason == vmv1alpha1.ReasonNotReady {
		l.reason = reason
	}
	if text := err.Error(); !slices.Contains(l.messages, text) {
		l.messages = append(l.messages, text)
	}
}
