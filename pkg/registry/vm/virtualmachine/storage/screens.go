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

// Screens queries vSphere for consoles and screenshots. Its errors are API errors.
type Screens interface {
	// Console returns a ticket for one connection to the console of a virtual machine.
	Console(ctx context.Context, vm *vmv1alpha1.VirtualMachine) (*vmv1alpha1.VirtualMachineConsoleStatus, error)
	// Screenshot returns a PNG image of its console.
	Screenshot(ctx context.Context, vm *vmv1alpha1.VirtualMachine) ([]byte, error)
}

// screens is shared by both endpoints.
type screens struct {
	store   *registry.Store
	screens Screens
	rates   *rates
}

// machine returns a virtual machine, or an error if the user has exceeded the request limit.
func (s *screens) machine(ctx context.Context, name string) (*vmv1alpha1.VirtualMachine, error) {
	who := ""
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		who = user.GetName()
	}
	if !s.rates.tryAcquire(who) {
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("too many consoles and screenshots: the limit for each user is one per second, with a burst of %d", burst), 1)
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
		return nil, apierrors.NewServiceUnavailable("this server has no vCenter")
	}
	return vm, nil
}

const (
	// perSecond and burst limit the vSphere requests of each user.
	perSecond = 1
	burst     = 20
	// users is the number of users whose rate is stored. The least recently used one is removed first.
	users = 4096
)

// rates are the rate limiters of users.
type rates struct{ byUser *lru.Cache }

func newRates() *rates { return &rates{byUser: lru.New(users)} }

// tryAcquire reports whether the user may send a request now.
func (r *rates) tryAcquire(user string) bool {
	if limit, ok := r.byUser.Get(user); ok {
		return limit.(flowcontrol.RateLimiter).TryAccept()
	}
	// Two concurrent first requests may both create a limiter, which allows one extra request.
	limit := flowcontrol.NewTokenBucketRateLimiter(perSecond, burst)
	r.byUser.Add(user, limit)
	return limit.TryAccept()
}
