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

// pngType is the media type of pictures.
const pngType = "image/png"

// ScreenshotREST gives pictures of consoles.
type ScreenshotREST struct{ screens *screens }

var (
	_ rest.Getter          = &ScreenshotREST{}
	_ rest.StorageMetadata = &ScreenshotREST{}
)

// New returns an empty VirtualMachine, which is never the answer.
func (*ScreenshotREST) New() runtime.Object { return &vmv1alpha1.VirtualMachine{} }

// Destroy does nothing: the main endpoint owns the store.
func (*ScreenshotREST) Destroy() {}

// ProducesMIMETypes is what is answered.
func (*ScreenshotREST) ProducesMIMETypes(string) []string { return []string{pngType} }

// ProducesObject is what the server documents as the answer: bytes.
func (*ScreenshotREST) ProducesObject(string) any { return "" }

// Get returns a picture of the console of the VM called name.
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

// picture is written to the client as it is.
type picture struct{ data []byte }

var _ rest.ResourceStreamer = &picture{}

// InputStream implements rest.ResourceStreamer.
func (p *picture) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return io.NopCloser(bytes.NewReader(p.data)), false, pngType, nil
}

// GetObjectKind implements runtime.Object, for an object of no kind.
func (*picture) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The bytes are not changed by anybody.
func (p *picture) DeepCopyObject() runtime.Object { return &picture{data: p.data} }
