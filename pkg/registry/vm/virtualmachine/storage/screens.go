// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Screens show what virtual machines show, by asking vSphere. Errors are those of the API.
type Screens interface {
	// Console gives a ticket for one connection to the console of a virtual machine.
	Console(ctx context.Context, vm *vmv1alpha1.VirtualMachine) (*vmv1alpha1.VirtualMachineConsoleStatus, error)
	// Screenshot gives a PNG of its console.
	Screenshot(ctx context.Context, vm *vmv1alpha1.VirtualMachine) ([]byte, error)
}

// screens is what both endpoints have in common.
type screens struct {
	store   *registry.Store
	screens Screens
	rates   *rates
}

// machine returns the VM called name, to who has not asked too often.
func (s *screens) machine(ctx context.Context, name string) (*vmv1alpha1.VirtualMachine, error) {
	who := ""
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		who = user.GetName()
	}
	if !s.rates.take(who) {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("at most %d consoles and screenshots at once, and then one a second, are given to each user", burst), 1)
	}
	obj, err := s.store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	vm, ok := obj.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return nil, fmt.Errorf("reading VirtualMachine %s: the store returned a %T", name, obj)
	}
	if s.screens == nil {
		return nil, apierrors.NewServiceUnavailable("this server has no vCenter to ask")
	}
	return vm, nil
}

const (
	// perSecond and burst bound what one user may ask vSphere for.
	perSecond = 1
	burst     = 20
	// users is of how many it is remembered how much they have asked; the one that asked
	// longest ago is forgotten first.
	users = 4096
)

// rates are those of users.
type rates struct{ byUser *lru.Cache }

func newRates() *rates { return &rates{byUser: lru.New(users)} }

// take reports whether a user may ask now.
func (r *rates) take(user string) bool {
	if limit, ok := r.byUser.Get(user); ok {
		return limit.(flowcontrol.RateLimiter).TryAccept()
	}
	// Of two that come at once each may begin: one more than the bound is no harm.
	limit := flowcontrol.NewTokenBucketRateLimiter(perSecond, burst)
	r.byUser.Add(user, limit)
	return limit.TryAccept()
}
