// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	_ "embed"
	"os"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// kinds are those of a provider of Cluster API, for the stories about Machines.
//
//go:embed testdata/deletion.yaml
var kinds []byte

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, kinds)) }

// user is an operator of Slipway.
type user struct{ testenv.User }

// admin is a user in system:masters with a namespace of its own.
func admin(t *testing.T) user {
	t.Helper()
	return user{testenv.Admin(t)}
}
