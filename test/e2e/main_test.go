// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
