// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// deleteInfrastructure deletes the infrastructure, and waits until it is gone.
func (s *scope) deleteInfrastructure(ctx context.Context) (bool, error) {
	return s.deleteExternal(ctx, &s.infra, s.machine.Spec.InfrastructureRef.Kind, clusterv1alpha1.WaitingForInfrastructureDeletionReason)
}

// deleteBootstrap deletes the bootstrap object, and waits until it is gone.
func (s *scope) deleteBootstrap(ctx context.Context) (bool, error) {
	if !s.machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		return true, nil
	}
	return s.deleteExternal(ctx, &s.bootstrap, s.machine.Spec.Bootstrap.ConfigRef.Kind, clusterv1alpha1.WaitingForBootstrapDeletionReason)
}

// deleteExternal deletes what the Machine refers to. It has ended when the server has said
// that there is no such object; what somebody else controls is not this Machine's and stays.
func (s *scope) deleteExternal(ctx context.Context, e *external, kind, waiting string) (bool, error) {
	failed := func(err error) (bool, error) {
		s.deleting = progress{reason: clusterv1alpha1.InternalErrorReason, message: fmt.Sprintf("Failed to delete %s, %s", kind, checkLogs)}
		return false, err
	}
	switch {
	case e.gone:
		return true, nil
	case e.foreign:
		klog.FromContext(ctx).Info("An object that the Machine refers to is somebody else's and stays", "object", describe(e.object))
		return true, nil
	case e.err != nil:
		return failed(nil) // The phase that reads it has returned the error.
	case e.object == nil:
		return true, nil // The Machine refers to none.
	}
	s.deleting = progress{reason: waiting, message: fmt.Sprintf("Waiting for %s to be deleted", kind)}
	if e.object.GetDeletionTimestamp() != nil {
		return false, nil
	}
	uid := e.object.GetUID()
	err := e.kind.Client.Resource(e.kind.GVR).Namespace(e.object.GetNamespace()).
		Delete(ctx, e.object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	switch {
	case err == nil:
	case contract.IsGone(err), apierrors.IsConflict(err): // It went, or another came, before the cache was told.
		s.again(controller.Conflict)
	default:
		return failed(fmt.Errorf("deleting %s: %w", describe(e.object), err))
	}
	return false, nil
}
