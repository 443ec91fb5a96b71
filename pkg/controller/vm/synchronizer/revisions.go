// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Ensure lets revision exist, for a status that names it or is about to. One that
// exists must hold the same, and stays if it was about to be collected.
//
// It is called before the status is written and again after that: who collects a
// revision marks it first and then looks whether anything names it, so that one of the
// two sees the other.
func Ensure(ctx context.Context, store RevisionStore, revision *itv1alpha1.ControllerRevision) error {
	// Most virtual machines capture what another one has captured before.
	existing, err := store.Get(ctx, revision.Namespace, revision.Name)
	if apierrors.IsNotFound(err) {
		_, err = store.Create(ctx, revision)
		if !apierrors.IsAlreadyExists(err) {
			return created(revision.Name, err)
		}
		existing, err = store.Get(ctx, revision.Namespace, revision.Name)
	}
	if err != nil {
		// Not wrapped: nothing that the virtual machine refers to is missing.
		return fmt.Errorf("reading existing ControllerRevision %q: %s", revision.Name, err) //nolint:errorlint // see above
	}
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("ControllerRevision %q is being deleted and will be captured again", revision.Name)
	}
	if err := instancetype.Same(existing, revision); err != nil {
		return err
	}
	if _, marked := existing.Annotations[itv1alpha1.AnnotationCollecting]; !marked {
		return nil
	}
	kept := existing.DeepCopy()
	delete(kept.Annotations, itv1alpha1.AnnotationCollecting)
	if _, err := store.Update(ctx, kept); err != nil {
		return fmt.Errorf("keeping ControllerRevision %q, which was about to be collected: %s", revision.Name, err) //nolint:errorlint // as above
	}
	return nil
}

// created is the error of a create.
func created(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		// The namespace is gone or not seen yet. Not wrapped: nothing that the virtual
		// machine refers to is missing, so that it has to be tried again.
		return fmt.Errorf("creating ControllerRevision %q: %s", name, err) //nolint:errorlint // see above
	}
	return fmt.Errorf("creating ControllerRevision %q: %w", name, err)
}
