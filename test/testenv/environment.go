// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/reasons"
)

// Root is the directory of the repository, relative to that of a package of tests.
const Root = "../.."

var (
	// shared is the environment of tests that do not have their own.
	shared *localcluster.Cluster
	// environments are the environments of single tests, by the names of the tests.
	environments sync.Map
)

// BinDir is the absolute path of the directory of the programs.
var BinDir = sync.OnceValue(func() string {
	dir, err := filepath.Abs(filepath.Join(Root, "bin"))
	if err != nil {
		panic(err) // there is no working directory
	}
	return dir
})

// Main starts the environment that tests share, applies manifests, runs the tests and returns the exit status.
func Main(m *testing.M, manifests []byte) (code int) {
	dir, err := os.MkdirTemp("", "slipway-test-")
	if err != nil {
		return report(err)
	}
	defer func() {
		if code != 0 {
			_, _ = fmt.Fprintf(os.Stderr, "the logs are kept in %s\n", localcluster.LogDir(dir))
			return
		}
		_ = os.RemoveAll(dir)
	}()
	shared, err = localcluster.Start(context.Background(), options(dir))
	if err != nil {
		return report(err)
	}
	defer func() {
		if err := shared.Stop(); err != nil {
			code = max(code, report(err))
		}
	}()
	followed, err := reasons.FollowServer(shared.RestConfig())
	if err != nil {
		return report(err)
	}
	defer func() {
		if err := followed(context.Background()); err != nil {
			code = max(code, report(err))
		}
	}()
	if err := shared.Apply(context.Background(), manifests); err != nil {
		return report(err)
	}
	return stopWorkload(m.Run())
}

func report(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}

// options returns the options of an environment in dir.
func options(dir string) localcluster.Options {
	return localcluster.Options{
		DataDir: dir, BinDir: BinDir(), UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond,
		// A permission that a test grants must be effective immediately, not after ten seconds.
		SlipwayArgs: []string{
			"--authorization-webhook-cache-unauthorized-ttl=0s", "--probe-networks=127.0.0.0/8",
			"--audit-policy-file=" + filepath.Join(filepath.Dir(BinDir()), "artifacts/hardening/audit-policy.yaml"), "--audit-log-path=" + auditLog(dir),
		},
		VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	}
}

func auditLog(dir string) string { return filepath.Join(dir, "audit.log") }

// AuditLog returns the path of the audit log of a test's server.
func AuditLog(t *testing.T) string { return auditLog(filepath.Dir(Of(t).SlipwayDataDir())) }

// Of returns the environment of a test or subtest.
func Of(t *testing.T) *localcluster.Cluster {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if c, ok := environments.Load(name); ok {
		return c.(*localcluster.Cluster)
	}
	return shared
}

// Own runs the rest of a test in its own environment, in parallel with other tests. Each change modifies the options.
func Own(t *testing.T, change ...func(*localcluster.Options)) {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("", "slipway-test-") // the path of a socket is short
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
