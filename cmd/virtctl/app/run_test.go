// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"testing"
)

// run starts virtctl with args against s and returns what it printed.
func run(t *testing.T, s *apiServer, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, "virtctl", "", s, args...)
}

// runAs is run under another name of the program, with standard input.
func runAs(t *testing.T, program, stdin string, s http.Handler, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runWith(t, addCommands, program, stdin, s, args...)
}
