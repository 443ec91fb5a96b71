// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// pngType is the media type of screenshots.
const pngType = "image/png"

// ScreenshotREST returns screenshots of consoles.
type ScreenshotREST struct{ screens *screens }

var (
	_ rest.Getter          = &ScreenshotREST{}
	_ rest.StorageMetadata = &ScreenshotREST{}
)

// New returns an empty VirtualMachine, which is not used.
func (*ScreenshotREST) New() runtime.Object { return &vmv1alpha1.VirtualMachine{} }

// Destroy does nothing, because the main endpoint owns the store.
func (*ScreenshotREST) Destroy() {}

// ProducesMIMETypes returns the media type of screenshots.
func (*ScreenshotREST) ProducesMIMETypes(string) []string { return []string{pngType} }

// ProducesObject returns the type of the response for the API documentation.
func (*ScreenshotREST) ProducesObject(string) any { return "" }

// Get returns a screenshot of the console of a virtual machine.
func (r *ScreenshotREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	vm, err := r.screens.machine(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := r.screens.screens.Screenshot(ctx, vm)
	if err != nil {
		return nil, err
	}
	return &picture{data: data}, nil
}

// picture is written to the client unchanged.
type picture struct{ data []byte }

var _ rest.ResourceStreamer = &picture{}

// InputStream implements rest.ResourceStreamer.
func (p *picture) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return io.NopCloser(bytes.NewReader(p.data)), false, pngType, nil
}

// GetObjectKind implements runtime.Object.
func (*picture) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The copy shares the bytes, which are never modified.
func (p *picture) DeepCopyObject() runtime.Object { return &picture{data: p.data} }
