// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Readers makes what a request reads other objects with: instance types, preferences,
// classes, images, revisions, and the claims of the host cluster.
type Readers interface {
	instancetype.Reader
	// Instance returns what a VM runs with; apierrors.IsNotFound recognises the error
	// when it does not run.
	Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error)
	// Snapshot returns one; apierrors.IsNotFound recognises the error when it is not there.
	Snapshot(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineSnapshot, error)
}
