// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Readers reads instance types, preferences, classes, images, revisions, and persistent volume claims of the
// management cluster.
type Readers interface {
	instancetype.Reader
	// Instance returns the instance of a virtual machine. If the virtual machine does not run, apierrors.IsNotFound
	// is true for the error.
	Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error)
	// Snapshot returns a snapshot. If it does not exist, apierrors.IsNotFound is true for the error.
	Snapshot(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineSnapshot, error)
}
