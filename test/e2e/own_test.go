// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/reasons"
)

// environments are those that tests have to themselves, by the names of the tests.
var environments sync.Map

// environment is that of a test, which its subtests have too.
func environment(t *testing.T) *localcluster.Cluster {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if c, ok := environments.Load(name); ok {
		return c.(*localcluster.Cluster)
	}
	return cluster
}

// another lets the rest of a test run in an environment of its own, beside other tests.
// Each change changes its options.
func another(t *testing.T, change ...func(*localcluster.Options)) {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("", "slipway-e2e-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs are kept in %s", localcluster.LogDir(dir))
			return
		}
		_ = os.RemoveAll(dir)
	})
	o := options(dir)
	for _, c := range change {
		c(&o)
	}
	c, err := localcluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	environments.Store(t.Name(), c)
	t.Cleanup(func() {
		environments.Delete(t.Name())
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	reasons.FollowIn(t, c.RestConfig())
}
