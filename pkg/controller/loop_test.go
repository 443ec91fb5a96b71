// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"
)

// unsyncedInformer is an informer that never receives its initial list.
type unsyncedInformer struct{ cache.SharedIndexInformer }

type registration struct {
	cache.ResourceEventHandlerRegistration
}

func (registration) HasSynced() bool { return false }

func (unsyncedInformer) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return registration{}, nil
}

type started struct{ yes bool }

func (s *started) StartWithContext(context.Context) { s.yes = true }

func TestLoop_RunReturnsAnErrorIfCachesAreNotFilled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopping")
	cancel(cause)
	var informers started
	l, err := For[string]("zone", &informers).Watches(unsyncedInformer{}, nil).Reconciler(ReconcilerFunc[string](nil)).Build()
	if err != nil {
		t.Fatal(err)
	}
	err = l.Run(ctx)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "controller zone stopped before its caches were filled") {
		t.Errorf("error %v, want the controller's name and the cause", err)
	}
	if !informers.yes {
		t.Error("the informers were not started")
	}
}
