// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"
)

func TestHealthy_ReportsTheInvalidObject(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, func(c *settings) { c.Datacenter = "nowhere" })
	eventually(t, "the error names the datacenter", func() bool {
		err := p.Healthy(t.Context())
		return err != nil && strings.Contains(err.Error(), `no datacenter "nowhere"`)
	})
}
