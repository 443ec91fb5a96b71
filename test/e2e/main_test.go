// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/reasons"
)

// What tests share; set by TestMain.
var (
	// cluster is the environment of the tests that have none of their own.
	cluster *localcluster.Cluster
	// binDir is the absolute path of the directory of the programs.
	binDir string
)

func TestMain(m *testing.M) { os.Exit(withCluster(m)) }

// withCluster runs the tests in the environment and returns the exit status.
func withCluster(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "slipway-e2e-")
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
	if binDir, err = filepath.Abs("../../bin"); err != nil {
		return report(err)
	}
	cluster, err = localcluster.Start(context.Background(), options(dir))
	if err != nil {
		return report(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			code = max(code, report(err))
		}
	}()
	followed, err := reasons.FollowServer(cluster.RestConfig())
	if err != nil {
		return report(err)
	}
	defer func() {
		if err := followed(context.Background()); err != nil {
			code = max(code, report(err))
		}
	}()
	return m.Run()
}

// options are those of an environment in dir.
func options(dir string) localcluster.Options {
	return localcluster.Options{
		DataDir: dir, BinDir: binDir, UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond,
		// A right that a test grants must hold at once, not after ten seconds.
		SlipwayArgs: []string{
			"--authorization-webhook-cache-unauthorized-ttl=0s", "--probe-networks=127.0.0.0/8",
			"--audit-policy-file=" + filepath.Join(filepath.Dir(binDir), "artifacts/hardening/audit-policy.yaml"), "--audit-log-path=" + auditLog(dir),
		},
		VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	}
}

// auditLog is that of the server of an environment in dir.
func auditLog(dir string) string { return filepath.Join(dir, "audit.log") }

func report(err error) int {
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}
