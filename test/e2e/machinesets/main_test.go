// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machinesets

import (
	"context"
	_ "embed"
	"testing"

	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// pair is what all tests share.
var pair workloadcluster.Pair

// provider are the kinds of the test, with Cluster API's labels and the rights on them.
//
//go:embed testdata/provider.yaml
var provider []byte

func TestMain(m *testing.M) {
	workloadcluster.MainBesideHost(m, &pair, workloadcluster.PairOptions{
		Ready: func(ctx context.Context, p *workloadcluster.Pair) error { return p.Host.Apply(ctx, provider) },
	})
}
