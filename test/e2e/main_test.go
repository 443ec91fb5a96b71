// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
	"os"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// kinds are those of a provider of Cluster API, for the stories about Machines.
//
//go:embed testdata/sets.yaml
var kinds []byte

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, kinds)) }

// user is a user in one namespace.
type user struct{ testenv.User }

// admin is a user in system:masters with a namespace of its own.
func admin(t *testing.T) user {
	t.Helper()
	return user{testenv.Admin(t)}
}

// part runs a subtest in the namespace of the test.
func (u user) part(name string, tell func(t *testing.T, u user)) {
	u.T.Helper()
	u.T.Run(name, func(t *testing.T) {
		u.T = t
		tell(t, u)
	})
}

// editor is a new user with the ClusterRole edit in the namespace of u.
func (u user) editor(name string) user {
	u.T.Helper()
	u.Grant(name, "edit")
	e := user{u.As(name)}
	testenv.Eventually(u.T, testenv.Short, name+" may edit VMs", func() error {
		return e.TryCreate(testenv.VMWith("probe", "cpu: {sockets: 1}", "memory: {guest: 1Gi}"))
	})
	return e
}
