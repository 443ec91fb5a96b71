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

// never is an informer that starts and gets no list.
type never struct{ cache.SharedIndexInformer }

type registration struct {
	cache.ResourceEventHandlerRegistration
}

func (registration) HasSynced() bool { return false }

func (never) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return registration{}, nil
}

type started struct{ yes bool }

func (s *started) StartWithContext(context.Context) { s.yes = true }

func TestWhatWasNotFilledIsAnErrorThatNamesTheController(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	told := errors.New("told to stop")
	cancel(told)
	var informers started
	l, err := For[string]("zone", &informers).Watches(never{}, nil).Reconciler(ReconcilerFunc[string](nil)).Build()
	if err != nil {
		t.Fatal(err)
	}
	err = l.Run(ctx)
	if !errors.Is(err, told) || !strings.Contains(err.Error(), "controller zone stopped before its caches were filled") {
		t.Errorf("error %v, want the name of the controller and the cause", err)
	}
	if !informers.yes {
		t.Error("the informers were not started")
	}
}
