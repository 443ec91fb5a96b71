// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package install

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

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
)

// installManager is the field manager of install.
const installManager = "virtctl-install"

// Applier applies manifests with server-side apply.
type Applier struct {
	f         command
	Client    dynamic.Interface
	Discovery discovery.DiscoveryInterfaceWithContext
	force     bool
}

// NewApplier returns an applier. With force it overrides fields of other managers.
func NewApplier(factory *cli.Factory, force bool) (*Applier, error) {
	f := command{factory}
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for discovery: %w", err)
	}
	return &Applier{f: f, Client: client, Discovery: served, force: force}, nil
}

// resource returns the client for an object's resource.
func (a *Applier) resource(o *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind()) // exact for these kinds
	if o.GetNamespace() == "" {
		return a.Client.Resource(resource)
	}
	return a.Client.Resource(resource).Namespace(o.GetNamespace())
}

// Called returns the display name of an object.
func Called(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// apply applies an object and reports whether it changed.
func (a *Applier) apply(ctx context.Context, o *unstructured.Unstructured) error {
	before, err := a.resource(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %s: %w", Called(o), err)
	}
	data, encodeErr := json.Marshal(o)
	if encodeErr != nil {
		return fmt.Errorf("encoding %s: %w", Called(o), encodeErr)
	}
	after, applyErr := a.resource(o).Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: installManager, Force: &a.force})
	switch {
	case apierrors.IsConflict(applyErr):
		return fmt.Errorf("applying %s: %w; use --force-conflicts to override the fields", Called(o), applyErr)
	case applyErr != nil:
		return fmt.Errorf("applying %s: %w", Called(o), applyErr)
	}
	done := "configured"
	switch {
	case err != nil:
		done = "created"
	case before.GetResourceVersion() == after.GetResourceVersion():
		done = "unchanged"
	}
	_, err = fmt.Fprintln(a.f.Streams.Out, Called(o), done)
	return err
}
