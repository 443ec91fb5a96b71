// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"net/http"
	"testing"

	"github.com/slipway-dev/slipway/test/clitest"
)

// run starts virtctl with args against s and returns what it printed.
func run(t *testing.T, s *clitest.APIServer, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, "virtctl", "", s, args...)
}

// runAs is run under another name of the program, with standard input.
func runAs(t *testing.T, program, stdin string, s http.Handler, args ...string) (code int, out, errOut string) {
	t.Helper()
	return clitest.Run(t, program, stdin, s, args...)
}
