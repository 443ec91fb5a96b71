// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	clusterclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/cluster/v1alpha1"
)

// writer writes Machines.
type writer struct {
	client   clusterclient.MachinesGetter
	machines controller.Store[*machine]
	echoes   *controller.Echoes[*machine]
}

// addFinalizer adds the finalizer to a new Machine.
func (w *writer) addFinalizer(ctx context.Context, m *machine) error {
	m.Finalizers = append(m.Finalizers, clusterv1alpha1.MachineFinalizer)
	_, err := w.machines.Update(ctx, w.client.Machines(m.Namespace), m)
	return err
}

// persist writes the changes of a reconcile: at most one Update and one UpdateStatus. A concurrent write by another
// client is a conflict.
func (w *writer) persist(ctx context.Context, s *step.State, complete bool) error {
	if complete {
		s.Machine.Status.ObservedGeneration = s.Stored.Generation
	}
	stored, refused := w.persistMain(ctx, s)
	if refused != nil && (apierrors.IsConflict(refused) || apierrors.IsNotFound(refused)) {
		return ignoreNotFound(refused)
	}
	if stored.DeletionTimestamp != nil && len(stored.Finalizers) == 0 {
		w.machines.RecordDelete(stored)
		return nil
	}
	if complete && refused == nil {
		s.Machine.Status.ObservedGeneration = stored.Generation
	}
	// The status is written even if the update was rejected, because it may contain the reason.
	if err := w.persistStatus(ctx, s, stored); err != nil {
		return err
	}
	return refused
}

// persistMain writes metadata and spec if they have changed, and returns the stored object.
func (w *writer) persistMain(ctx context.Context, s *step.State) (*machine, error) {
	if !mainChanged(s.Stored, s.Machine) {
		return s.Stored, nil
	}
	next := s.Machine.DeepCopy()
	next.Status = s.Stored.Status
	written, err := w.machines.Update(ctx, w.client.Machines(next.Namespace), next)
	if err != nil {
		return s.Stored, err
	}
	return written, nil
}

// persistStatus writes the status if it has changed.
func (w *writer) persistStatus(ctx context.Context, s *step.State, stored *machine) error {
	finishConditions(s.Stored.Status.Conditions, s.Machine.Status.Conditions, stored.Generation, s.Now)
	w.machines.CopyLimitCondition(s.Machine)
	if equality.Semantic.DeepEqual(s.Stored.Status, s.Machine.Status) {
		return nil
	}
	next := stored.DeepCopy()
	next.Status = s.Machine.Status
	if err := w.machines.Admit(ctx, w.client.Machines(next.Namespace), next); err != nil {
		return err
	}
	w.echoes.Expect(next)
	written, err := w.client.Machines(next.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		w.echoes.Forget(controller.KeyOf(next))
		return ignoreNotFound(fmt.Errorf("writing the status of Machine %s: %w", controller.KeyOf(next), err))
	}
	w.machines.RecordWrite(written)
	return nil
}

// mainChanged reports whether fields differ that the controller writes with Update.
func mainChanged(a, b *machine) bool {
	return !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.Finalizers, b.Finalizers) || !equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
