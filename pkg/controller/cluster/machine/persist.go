// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/controller"
)

// persist writes what the pass changed: at most one Update and one UpdateStatus, none when
// nothing changed. Somebody else's write in between is a conflict and never overwritten.
func (s *scope) persist(ctx context.Context, complete bool) error {
	if complete {
		s.machine.Status.ObservedGeneration = s.stored.Generation
	}
	stored, refused := s.persistMain(ctx)
	if refused != nil && (apierrors.IsConflict(refused) || apierrors.IsNotFound(refused)) {
		return ignoreGone(refused)
	}
	if stored.DeletionTimestamp != nil && len(stored.Finalizers) == 0 {
		s.machines.Deleted(stored)
		s.deferred.forget(s.key())
		return nil
	}
	if complete && refused == nil {
		s.machine.Status.ObservedGeneration = stored.Generation
	}
	// What is refused is told, and the status is written all the same: it may say why.
	if err := s.persistStatus(ctx, stored); err != nil {
		return err
	}
	return refused
}

// persistMain writes metadata and spec if they changed, and returns the object as it is stored.
func (s *scope) persistMain(ctx context.Context) (*machine, error) {
	if !mainChanged(s.stored, s.machine) {
		return s.stored, nil
	}
	next := s.machine.DeepCopy()
	next.Status = s.stored.Status
	written, err := s.machines.Update(ctx, s.client.Machines(next.Namespace), next)
	if err != nil {
		return s.stored, err
	}
	return written, nil
}

// persistStatus writes the status if it changed, over the object as it is stored now.
func (s *scope) persistStatus(ctx context.Context, stored *machine) error {
	settle(s.stored.Status.Conditions, s.machine.Status.Conditions, stored.Generation, s.now)
	s.machines.Mark(s.machine)
	if equality.Semantic.DeepEqual(s.stored.Status, s.machine.Status) {
		return nil
	}
	next := stored.DeepCopy()
	next.Status = s.machine.Status
	if err := s.machines.Admit(ctx, s.client.Machines(next.Namespace), next); err != nil {
		return err
	}
	s.echoes.Expect(next)
	written, err := s.client.Machines(next.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		s.echoes.Forget(controller.KeyOf(next))
		return ignoreGone(fmt.Errorf("writing the status of Machine %s: %w", controller.KeyOf(next), err))
	}
	s.machines.Wrote(written)
	return nil
}

// mainChanged compares what the controller writes through the main resource.
func mainChanged(a, b *machine) bool {
	return !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.Finalizers, b.Finalizers) || !equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
