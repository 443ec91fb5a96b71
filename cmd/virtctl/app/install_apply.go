// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// installManager owns the fields of what install has made.
const installManager = "virtctl-install"

// applier applies manifests on the server's side.
type applier struct {
	f         *Factory
	client    dynamic.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	force     bool
}

// newApplier returns an applier; force takes over fields of others.
func newApplier(f *Factory, force bool) (*applier, error) {
	config, err := f.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for discovery: %w", err)
	}
	return &applier{f: f, client: client, discovery: served, force: force}, nil
}

// resource is where an object of the installation is.
func (a *applier) resource(o *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind()) // of these kinds it is no guess
	if o.GetNamespace() == "" {
		return a.client.Resource(resource)
	}
	return a.client.Resource(resource).Namespace(o.GetNamespace())
}

// called is how an object is named in what is printed.
func called(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// apply makes an object what it is to be, and says whether it was.
func (a *applier) apply(ctx context.Context, o *unstructured.Unstructured) error {
	before, err := a.resource(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %s: %w", called(o), err)
	}
	data, encodeErr := json.Marshal(o)
	if encodeErr != nil {
		return fmt.Errorf("encoding %s: %w", called(o), encodeErr)
	}
	after, applyErr := a.resource(o).Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: installManager, Force: &a.force})
	switch {
	case apierrors.IsConflict(applyErr):
		return fmt.Errorf("applying %s: %w; --force-conflicts takes the fields over", called(o), applyErr)
	case applyErr != nil:
		return fmt.Errorf("applying %s: %w", called(o), applyErr)
	}
	done := "configured"
	switch {
	case err != nil:
		done = "created"
	case before.GetResourceVersion() == after.GetResourceVersion():
		done = "unchanged"
	}
	_, err = fmt.Fprintln(a.f.streams.Out, called(o), done)
	return err
}
