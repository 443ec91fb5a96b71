// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/test/clitest"
)

func addCommands(root *cobra.Command, f *cli.Factory) { root.AddCommand(NewCommand(f)) }

// run starts virtctl with args against s and returns what it printed.
func run(t *testing.T, s *clitest.APIServer, args ...string) (code int, out, errOut string) {
	t.Helper()
	return clitest.Run(t, addCommands, "virtctl", "", s, args...)
}
