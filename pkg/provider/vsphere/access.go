// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// CheckAccess connects as c says and reports what vCenter lacks. It changes nothing.
// An error means that vCenter could not be asked.
func CheckAccess(ctx context.Context, c Config) (*access.Report, error) {
	s, err := session.New(c.session())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return access.Check(ctx, s, placement.New(c.placement(s)))
}
