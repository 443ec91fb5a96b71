// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	_ "embed"
	"testing"

	"github.com/slipway-dev/slipway/test/workloadcluster"
)

var pair workloadcluster.Pair

var (
	//go:embed testdata/sets.yaml
	setProvider []byte
	//go:embed testdata/deletion.yaml
	deletionProvider []byte
)

func TestMain(m *testing.M) {
	workloadcluster.MainBesideHost(m, &pair, workloadcluster.PairOptions{
		Ready: func(ctx context.Context, p *workloadcluster.Pair) error {
			if err := p.Host.Apply(ctx, setProvider); err != nil {
				return err
			}
			return p.Host.Apply(ctx, deletionProvider)
		},
	})
}
