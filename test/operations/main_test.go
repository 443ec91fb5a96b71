// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"os"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// user is an operator of Slipway.
type user struct{ testenv.User }

// admin is a user in system:masters with a namespace of its own.
func admin(t *testing.T) user {
	t.Helper()
	return user{testenv.Admin(t)}
}
