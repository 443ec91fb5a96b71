// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package synchronizer

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// ensure lets the revision of capture exist and belong to vm.
func ensure(ctx context.Context, store RevisionStore, vm *vmv1alpha1.VirtualMachine, capture *instancetype.Capture) error {
	switch {
	case capture.Create != nil:
		return ensureRevision(ctx, store, vm, capture.Create)
	case capture.Adopt != "":
		return adoptRevision(ctx, store, vm, capture.Adopt)
	}
	return nil
}

// ensureRevision creates revision for vm. One that exists is reused when it is
// equal and will live as long as vm.
func ensureRevision(ctx context.Context, store RevisionStore, vm *vmv1alpha1.VirtualMachine, revision *appsv1.ControllerRevision) error {
	_, err := store.Create(ctx, revision)
	if err == nil {
		return nil
	}
	if apierrors.IsNotFound(err) {
		// The namespace is gone or not seen yet. Not wrapped: nothing that the virtual
		// machine refers to is missing, so that it has to be tried again.
		return fmt.Errorf("creating ControllerRevision %q: %s", revision.Name, err) //nolint:errorlint // see above
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating ControllerRevision %q: %w", revision.Name, err)
	}
	existing, err := store.Get(ctx, revision.Namespace, revision.Name)
	if apierrors.IsNotFound(err) {
		// Not wrapped: nothing that the virtual machine refers to is missing.
		return fmt.Errorf("ControllerRevision %q was deleted just now and will be captured again", revision.Name)
	}
	if err != nil {
		return fmt.Errorf("reading existing ControllerRevision %q: %w", revision.Name, err)
	}
	// After a virtual machine was deleted and made again under the same name,
	// the revision of the first one is still there for a moment.
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("ControllerRevision %q is being deleted and will be captured again", revision.Name)
	}
	if metav1.GetControllerOf(existing) != nil && !instancetype.OwnedBy(existing, vm) {
		return fmt.Errorf("ControllerRevision %q belongs to another owner, %s, and cannot be reused",
			revision.Name, metav1.GetControllerOf(existing).UID)
	}
	equal, err := instancetype.EqualRevisions(existing, revision)
	if err != nil {
		return fmt.Errorf("comparing ControllerRevision %q: %w", revision.Name, err)
	}
	if !equal {
		return fmt.Errorf("found existing ControllerRevision with unexpected data: %s", revision.Name)
	}
	return nil
}

// adoptRevision makes vm an owner of a revision that it did not capture itself: one
// that it pins, of another virtual machine or restored without owner.
func adoptRevision(ctx context.Context, store RevisionStore, vm *vmv1alpha1.VirtualMachine, name string) error {
	err := store.Adopt(ctx, vm, name)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// Not wrapped: the cache had it, so that only the next pass can tell.
		return fmt.Errorf("ControllerRevision %q changed just now and will be read again", name)
	}
	if err != nil {
		return fmt.Errorf("becoming an owner of ControllerRevision %q: %w", name, err)
	}
	return nil
}
