// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"testing"

	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// pair is what all tests share.
var pair workloadcluster.Pair

func TestMain(m *testing.M) { workloadcluster.MainBesideHost(m, &pair, workloadcluster.PairOptions{}) }
