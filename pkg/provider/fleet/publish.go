// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Publish implements provider.Publisher. A virtual machine can be published only in its own vCenter.
func (f *Fleet[M]) Publish(ctx context.Context, p *provider.PublishRequest) (*provider.Published, error) {
	if in := f.vcenterOf(p.VM); in != p.VCenter {
		return nil, &provider.PublishRefusedError{
			Condition: vmv1alpha1.ConditionTargetValid, Reason: vmv1alpha1.ReasonInvalid,
			Message: fmt.Sprintf("the library is in vCenter %q and VirtualMachine %q is in vCenter %q: a virtual machine can be published only to a library in its own vCenter", p.VCenter, p.Source.Name, in),
		}
	}
	m, err := f.memberInUse(p.VCenter)
	if err != nil {
		return nil, err
	}
	return m.Publish(ctx, p)
}

// CancelPublication implements provider.Publisher.
func (f *Fleet[M]) CancelPublication(ctx context.Context, p *provider.PublishRequest) error {
	m, err := f.memberInUse(p.VCenter)
	if err != nil {
		return err
	}
	return m.CancelPublication(ctx, p)
}

// ForgetPublication implements provider.Publisher.
func (f *Fleet[M]) ForgetPublication(key types.NamespacedName) {
	members, _ := f.Members()
	for _, m := range members {
		m.ForgetPublication(key)
	}
}
