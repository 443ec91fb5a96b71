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

// Pools claims addresses of pools; addressclaim.Claims is one.
type Pools interface {
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

// Addresses claims what the interfaces of virtual machines name pools for.
type Addresses struct {
	Pools Pools
}

// AddressReport is what has come of the claims of addresses.
type AddressReport struct {
	step.Report
	// Effective is that of the state, with the addresses.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
}

// Reconcile claims what the interfaces name pools for, and gives the effective spec
// what it has got. Each step is in the status before the next one is taken: the name of a
// claim before that is made, and an address before a virtual machine gets it. So
// whatever becomes of this process or of the spec, what was claimed is known.
func (a *Addresses) Reconcile(ctx context.Context, s step.State) (AddressReport, error) {
	report := AddressReport{Effective: s.Effective}
	if s.Effective == nil {
		return report, nil
	}
	wanted := addressclaim.Wanted(s.VM, s.Effective.Network)
	if len(wanted)+len(s.VM.Status.ClaimedAddresses) == 0 {
		report.Remove(vmv1alpha1.ConditionAddressesReady)
		return report, nil
	}
	all, dropped := addressclaim.Merge(wanted, s.VM.Status.ClaimedAddresses)
	var errs []error
	for _, c := range dropped {
		if err := a.Pools.Release(ctx, s.VM, c); err != nil {
			all, errs = append(all, c), append(errs, err)
		}
	}
	var lacks lack
	for n := range wanted {
		lacks.note(a.claim(ctx, &report.Report, s, &all[n]))
	}
	s.VM.Status.ClaimedAddresses = all
	switch {
	case len(wanted) == 0:
		report.Remove(vmv1alpha1.ConditionAddressesReady)
	case lacks.reason != "":
		report.False(vmv1alpha1.ConditionAddressesReady, lacks.reason, strings.Join(lacks.messages, "; "))
		report.Again(controller.Recheck)
	default:
		report.True(vmv1alpha1.ConditionAddressesReady)
	}
	report.Wait = lacks.reason != "" || slices.ContainsFunc(all, func(c vmv1alpha1.ClaimedAddress) bool { return !recorded(s.Stored, c) })
	if len(wanted) > 0 {
		effective := *s.Effective
		effective.Network = addressclaim.Apply(effective.Network, all)
		report.Effective = &effective
	}
	return report, errors.Join(append(errs, lacks.err)...)
}

// claim takes the next step towards one address.
func (a *Addresses) claim(ctx context.Context, report *step.Report, s step.State, c *vmv1alpha1.ClaimedAddress) error {
	switch {
	case c.Address != "":
		if trouble := a.Pools.Held(s.VM, *c); trouble != "" {
			return &addressclaim.WaitError{Message: trouble}
		}
		return nil
	case !recorded(s.Stored, *c):
		report.Again(0)
		return &addressclaim.WaitError{Message: fmt.Sprintf("IPAddressClaim %q is about to be made for pool %q", c.ClaimName, c.Pool.Name)}
	}
	got, err := a.Pools.Get(ctx, s.VM, *c)
	if err == nil {
		*c = got
		report.Again(0)
	}
	return err
}

// recorded is true for what the stored status has.
func recorded(stored *vmv1alpha1.VirtualMachine, c vmv1alpha1.ClaimedAddress) bool {
	return slices.ContainsFunc(stored.Status.ClaimedAddresses, func(s vmv1alpha1.ClaimedAddress) bool {
		return s.ClaimName == c.ClaimName && s.Address == c.Address
	})
}

// Release gives back what was claimed for a virtual machine that is gone.
func (a *Addresses) Release(ctx context.Context, vm *vmv1alpha1.VirtualMachine) error {
	var errs []error
	vm.Status.ClaimedAddresses = slices.DeleteFunc(vm.Status.ClaimedAddresses, func(c vmv1alpha1.ClaimedAddress) bool {
		err := a.Pools.Release(ctx, vm, c)
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
