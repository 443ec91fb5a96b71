// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package addressclaim

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Release releases an address of vm that is no longer used, or a claim whose address was never assigned. It succeeds if
// the objects do not exist.
func (c *Claims) Release(ctx context.Context, vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c.resetVersion() // A version that is no longer served would show no objects.
	version, err := c.servedVersion(ctx)
	var absent *NotServedError
	if errors.As(err, &absent) {
		return nil // If the kinds do not exist, neither do their objects.
	}
	if err != nil {
		return err
	}
	claims := c.resource(version, "ipaddressclaims", vm.Namespace)
	claim, err := claims.Get(ctx, claimed.ClaimName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		claim = nil
	case err != nil:
		return fmt.Errorf("reading IPAddressClaim %q: %w", claimed.ClaimName, err)
	case claim.GetLabels()[UIDLabel] != string(vm.UID):
		return nil // It belongs to another virtual machine.
	}
	if err := c.releaseAddress(ctx, version, vm, claimed, claim); err != nil || claim == nil {
		return err
	}
	if claim.GetDeletionTimestamp() == nil {
		uid := claim.GetUID()
		err := claims.Delete(ctx, claimed.ClaimName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("deleting IPAddressClaim %q: %w", claimed.ClaimName, err)
		}
		if claim, err = claims.Get(ctx, claimed.ClaimName, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading IPAddressClaim %q: %w", claimed.ClaimName, err)
		}
	}
	return removeFinalizer(ctx, claims, claim)
}

// releaseAddress removes the finalizer from the address of a claim. If the claim no longer exists, the address is found
// by its claimRef.
func (c *Claims) releaseAddress(ctx context.Context, version string, vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress, claim *unstructured.Unstructured) error {
	addresses := c.resource(version, "ipaddresses", vm.Namespace)
	if claim != nil {
		ref := text(claim, "status", "addressRef", "name")
		if ref == "" {
			return nil
		}
		address, err := addresses.Get(ctx, ref, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading IPAddress %q: %w", truncate(ref), err)
		}
		if text(address, "spec", "claimRef", "name") != claimed.ClaimName {
			return nil
		}
		return removeFinalizer(ctx, addresses, address)
	}
	if claimed.Address == "" {
		return nil
	}
	all, err := addresses.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the IPAddresses of namespace %q: %w", vm.Namespace, err)
	}
	for i := range all.Items {
		if text(&all.Items[i], "spec", "claimRef", "name") == claimed.ClaimName {
			if err := removeFinalizer(ctx, addresses, &all.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
