// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// CheckAccess connects to the vCenter of c and checks its privileges and objects. With zones it
// checks the objects of the zones, otherwise those that c specifies. It changes nothing. It returns
// an error if vCenter could not be queried.
func CheckAccess(ctx context.Context, c Config, zones []vmv1alpha1.Zone) (*access.Report, error) {
	s, err := session.New(c.session())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var resolvers []*placement.Resolver
	for i := range zones {
		resolvers = append(resolvers, placement.New(placement.Options{Session: s, Name: zones[i].Name, Zone: &zones[i].Spec}))
	}
	return access.Check(ctx, s, placement.New(c.placement(s)), resolvers...)
}
