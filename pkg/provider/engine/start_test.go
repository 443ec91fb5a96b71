// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// Reconciles of a VM and its snapshot can run concurrently. Both have read that no operation runs.
func TestStart_RefusesASecondOperationOfAVM(t *testing.T) {
	e := New(Options{Driver: fake.New()})
	vm := &vmv1alpha1.VirtualMachine{}
	vm.Namespace, vm.Name, vm.UID = "team-a", "web", "uid"
	req := &provider.Request{VM: vm, Now: time.Now()}
	first, second := e.newReconciliation(req), e.newReconciliation(req)
	release, ran := make(chan struct{}), make(chan struct{}, 2)
	op := driver.Operation{Kind: driver.KindReconfigure, Run: func(context.Context) error { ran <- struct{}{}; <-release; return nil }}
	if err := first.start(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	if err := second.start(t.Context(), op); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("the second operation: %v, want ErrReconcileInProgress", err)
	}
	close(release)
	if err := <-first.Ended; err != nil {
		t.Error(err)
	}
	if n := len(ran); n != 1 {
		t.Errorf("%d operations ran, want 1", n)
	}
}
