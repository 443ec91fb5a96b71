// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
)

// Pools claims addresses of pools. addressclaim.Claims implements it.
type Pools interface {
	// Get claims one address and returns it when the pool has assigned it.
	Get(ctx context.Context, vm *vmv1alpha1.VirtualMachine, want vmv1alpha1.ClaimedAddress) (vmv1alpha1.ClaimedAddress, error)
	// Problem returns the problem of the claim of an address in use. It is empty if there is no problem. Problem makes
	// no calls.
	Problem(vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) string
	// Release releases an address that is no longer used.
	Release(ctx context.Context, vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) error
	// Run calls changed for virtual machines whose claims change, until ctx is done.
	Run(ctx context.Context, changed func(types.NamespacedName))
}

// Addresses claims the addresses from pools that interfaces of virtual machines request.
type Addresses struct {
	Pools Pools
}

// AddressReport is the result of Addresses.Reconcile.
type AddressReport struct {
	step.Report
	// Effective is the effective spec of the state with the claimed addresses.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
}

// Reconcile claims the addresses that the interfaces request and adds the assigned addresses to the effective spec.
// Each step is stored in the status before the next step: the name of a claim before it is created, and an address
// before a virtual machine gets it. So no claim is lost if this process ends or the spec changes.
func (a *Addresses) Reconcile(ctx context.Context, s step.State) (AddressReport, error) {
	report := AddressReport{Effective: s.Effective}
	if s.Effective == nil {
		return report, nil
	}
	wanted := addressclaim.DesiredClaims(s.VM, s.Effective.Network)
	if len(wanted)+len(s.VM.Status.ClaimedAddresses) == 0 {
		report.Remove(vmv1alpha1.ConditionAddressesReady)
		return report, nil
	}
	all, dropped := addressclaim.MergeClaims(wanted, s.VM.Status.ClaimedAddresses)
	var errs []error
	for _, c := range dropped {
		if err := a.Pools.Release(ctx, s.VM, c); err != nil {
			all, errs = append(all, c), append(errs, err)
		}
	}
	var lacks missingAddresses
	for n := range wanted {
		lacks.addError(a.claim(ctx, &report.Report, s, &all[n]))
	}
	s.VM.Status.ClaimedAddresses = all
	switch {
	case len(wanted) == 0:
		report.Remove(vmv1alpha1.ConditionAddressesReady)
	case lacks.reason != "":
		report.False(vmv1alpha1.ConditionAddressesReady, lacks.reason, strings.Join(lacks.messages, "; "))
		report.RequeueAfter(controller.Recheck)
	default:
		report.True(vmv1alpha1.ConditionAddressesReady)
	}
	report.Wait = lacks.reason != "" || slices.ContainsFunc(all, func(c vmv1alpha1.ClaimedAddress) bool { return !isStored(s.Original, c) })
	if len(wanted) > 0 {
		effective := *s.Effective
		effective.Network = addressclaim.AddAddresses(effective.Network, all)
		report.Effective = &effective
	}
	return report, errors.Join(append(errs, lacks.err)...)
}

// claim does the next step for one address.
func (a *Addresses) claim(ctx context.Context, report *step.Report, s step.State, c *vmv1alpha1.ClaimedAddress) error {
	switch {
	case c.Address != "":
		if trouble := a.Pools.Problem(s.VM, *c); trouble != "" {
			return &addressclaim.WaitError{Message: trouble}
		}
		return nil
	case !isStored(s.Original, *c):
		report.RequeueAfter(0)
		return &addressclaim.WaitError{Message: fmt.Sprintf("IPAddressClaim %q is about to be created for pool %q", c.ClaimName, c.Pool.Name)}
	}
	got, err := a.Pools.Get(ctx, s.VM, *c)
	if err == nil {
		*c = got
		report.RequeueAfter(0)
	}
	return err
}

// isStored reports whether the stored status has the claim.
func isStored(stored *vmv1alpha1.VirtualMachine, c vmv1alpha1.ClaimedAddress) bool {
	return slices.ContainsFunc(stored.Status.ClaimedAddresses, func(s vmv1alpha1.ClaimedAddress) bool {
		return s.ClaimName == c.ClaimName && s.Address == c.Address
	})
}

// Release releases the claims of a virtual machine that is deleted.
func (a *Addresses) Release(ctx context.Context, vm *vmv1alpha1.VirtualMachine) error {
	var errs []error
	vm.Status.ClaimedAddresses = slices.DeleteFunc(vm.Status.ClaimedAddresses, func(c vmv1alpha1.ClaimedAddress) bool {
		err := a.Pools.Release(ctx, vm, c)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// missingAddresses is the reason why addresses are missing.
type missingAddresses struct {
	reason   string
	messages []string
	// err has the errors that a retry may fix.
	err error
}

// addError adds the error of one address. The most severe reason is kept.
func (l *missingAddresses) addError(err error) {
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
