// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package addressclaim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// versions are the supported versions of the contract, which have the same fields. The preferred version is first.
var versions = []string{"v1beta2", "v1beta1"}

// callTimeout limits one call, within the context of the reconcile.
const callTimeout = 10 * time.Second

// Claims manages the claims in the management cluster.
type Claims struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	watched   *claimWatch

	mu sync.Mutex
	// version is the served version. It is empty until it is determined.
	version string
}

// New returns the Claims of a cluster. It makes no calls.
func New(client dynamic.Interface, discovery discovery.DiscoveryInterface) *Claims {
	return &Claims{client: client, discovery: discovery, watched: newClaimWatch()}
}

// NotServedError is returned if the cluster does not serve the contract's API.
type NotServedError struct{}

// Error returns a message about what to install.
func (*NotServedError) Error() string {
	return "the cluster does not serve IPAddressClaims: install the CustomResourceDefinitions of " + Group + " and a provider of the pool"
}

// WaitError is returned while an address is not available.
type WaitError struct{ Message string }

// Error returns the message.
func (e *WaitError) Error() string { return e.Message }

// InvalidError is returned for an invalid claim or address.
type InvalidError struct{ Message string }

// Error returns the message.
func (e *InvalidError) Error() string { return e.Message }

// servedVersion returns the served version.
func (c *Claims) servedVersion(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != "" {
		return c.version, nil
	}
	var group metav1.APIGroup
	err := c.discovery.RESTClient().Get().AbsPath("/apis/" + Group).Do(ctx).Into(&group)
	if apierrors.IsNotFound(err) {
		return "", &NotServedError{}
	}
	if err != nil {
		return "", fmt.Errorf("reading the versions of %s: %w", Group, err)
	}
	for _, v := range versions {
		if slices.ContainsFunc(group.Versions, func(g metav1.GroupVersionForDiscovery) bool { return g.Version == v }) {
			c.version = v
			return v, nil
		}
	}
	return "", &NotServedError{}
}

// resetVersion resets the served version, so that the next call determines it again.
func (c *Claims) resetVersion() {
	c.mu.Lock()
	c.version = ""
	c.mu.Unlock()
}

// resource returns a client of a resource in a namespace.
func (c *Claims) resource(version, resource, namespace string) dynamic.ResourceInterface {
	return c.client.Resource(schema.GroupVersionResource{Group: Group, Version: version, Resource: resource}).Namespace(namespace)
}

// Ensure claims one address for vm and returns it when the pool has assigned it. Until then it returns a WaitError.
func (c *Claims) Ensure(ctx context.Context, vm *vmv1alpha1.VirtualMachine, want vmv1alpha1.ClaimedAddress) (vmv1alpha1.ClaimedAddress, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	version, err := c.servedVersion(ctx)
	if err != nil {
		return want, err
	}
	c.watched.start()
	claim, err := c.claim(ctx, version, vm, want)
	if err != nil {
		return want, err
	}
	if pool := poolOf(claim); claim.GetLabels()[UIDLabel] != string(vm.UID) || pool != want.Pool {
		return want, &InvalidError{fmt.Sprintf("IPAddressClaim %q does not belong to this virtual machine and %s", want.ClaimName, formatPool(want.Pool))}
	}
	if claim.GetDeletionTimestamp() != nil {
		return want, c.releaseDeleted(ctx, version, claim, want)
	}
	ref := text(claim, "status", "addressRef", "name")
	if ref == "" {
		return want, &WaitError{waitMessage(claim, want)}
	}
	addresses := c.resource(version, "ipaddresses", vm.Namespace)
	address, err := addresses.Get(ctx, ref, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return want, &WaitError{fmt.Sprintf("IPAddress %q, which IPAddressClaim %q refers to, does not exist", truncate(ref), want.ClaimName)}
	}
	if err != nil {
		return want, fmt.Errorf("reading IPAddress %q: %w", truncate(ref), err)
	}
	if address.GetDeletionTimestamp() != nil {
		return want, &WaitError{fmt.Sprintf("IPAddress %q of IPAddressClaim %q is being deleted", truncate(ref), want.ClaimName)}
	}
	got, err := assignedAddress(address, want)
	if err != nil {
		return want, &InvalidError{err.Error()}
	}
	return got, addFinalizer(ctx, addresses, address)
}

// claim returns the claim. It creates the claim if it does not exist.
func (c *Claims) claim(ctx context.Context, version string, vm *vmv1alpha1.VirtualMachine, want vmv1alpha1.ClaimedAddress) (*unstructured.Unstructured, error) {
	claims := c.resource(version, "ipaddressclaims", vm.Namespace)
	claim, err := claims.Get(ctx, want.ClaimName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		if err != nil {
			err = fmt.Errorf("reading IPAddressClaim %q: %w", want.ClaimName, err)
		}
		return claim, err
	}
	claim, err = claims.Create(ctx, newClaim(version, vm, want), metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, &WaitError{fmt.Sprintf("IPAddressClaim %q waits for an address of %s", want.ClaimName, formatPool(want.Pool))}
	case apierrors.IsNotFound(err):
		c.resetVersion() // The kind or the version is no longer served.
		return nil, &NotServedError{}
	case apierrors.IsInvalid(err):
		return nil, &InvalidError{fmt.Sprintf("IPAddressClaim %q is refused: %s", want.ClaimName, truncate(err.Error()))}
	case err != nil:
		return nil, fmt.Errorf("creating IPAddressClaim %q: %w", want.ClaimName, err)
	}
	return claim, nil
}

// releaseDeleted releases a claim that another client deletes before its address was used.
func (c *Claims) releaseDeleted(ctx context.Context, version string, claim *unstructured.Unstructured, want vmv1alpha1.ClaimedAddress) error {
	if err := removeFinalizer(ctx, c.resource(version, "ipaddressclaims", claim.GetNamespace()), claim); err != nil {
		return err
	}
	return &WaitError{fmt.Sprintf("IPAddressClaim %q is being deleted and will be created again", want.ClaimName)}
}

// addFinalizer adds the finalizer to o if it is missing.
func addFinalizer(ctx context.Context, resource dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	if slices.Contains(o.GetFinalizers(), Finalizer) {
		return nil
	}
	o = o.DeepCopy()
	o.SetFinalizers(append(o.GetFinalizers(), Finalizer))
	if _, err := resource.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("keeping %s %q: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// removeFinalizer removes the finalizer from o if it is present.
func removeFinalizer(ctx context.Context, resource dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	if !slices.Contains(o.GetFinalizers(), Finalizer) {
		return nil
	}
	o = o.DeepCopy()
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == Finalizer }))
	if _, err := resource.Update(ctx, o, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("releasing %s %q: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
