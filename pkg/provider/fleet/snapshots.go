// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// Snapshot implements provider.Snapshotter.
func (f *Fleet[M]) Snapshot(ctx context.Context, s *provider.SnapshotRequest) (*provider.ObservedSnapshot, error) {
	m, err := f.memberOfVM(s)
	if err != nil {
		return nil, err
	}
	return m.Snapshot(ctx, s)
}

// RemoveSnapshot implements provider.Snapshotter.
func (f *Fleet[M]) RemoveSnapshot(ctx context.Context, s *provider.SnapshotRequest) error {
	m, err := f.memberOfVM(s)
	if err != nil {
		return err
	}
	return m.RemoveSnapshot(ctx, s)
}

// ForgetSnapshot implements provider.Snapshotter.
func (f *Fleet[M]) ForgetSnapshot(key types.NamespacedName) {
	members, _ := f.Members()
	for _, m := range members {
		m.ForgetSnapshot(key)
	}
}

// memberOfVM returns the member of the vCenter that has the virtual machine.
func (f *Fleet[M]) memberOfVM(s *provider.SnapshotRequest) (m M, err error) {
	return f.memberInUse(f.vcenterOf(s.VM))
}

// memberInUse returns the member of a vCenter, or ErrNotInUse if there is none.
func (f *Fleet[M]) memberInUse(vcenter string) (m M, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.slot(vcenter); b.hasMember {
		return b.member, nil
	}
	return m, fmt.Errorf("%w: vCenter %q is not in use", provider.ErrNotInUse, vcenter)
}
