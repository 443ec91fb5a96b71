// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// workload is the workload cluster of all tests of a package.
var workload struct {
	sync.Mutex
	cluster *workloadcluster.Cluster
	dir     string
}

// WorkloadCluster returns the workload cluster that the tests of a package share. It starts with the first test that
// needs one, and Main stops it.
func WorkloadCluster(t *testing.T) *workloadcluster.Cluster {
	t.Helper()
	workload.Lock()
	defer workload.Unlock()
	if workload.cluster != nil {
		return workload.cluster
	}
	dir, err := os.MkdirTemp("", "slipway-test-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	workload.dir = dir
	if workload.cluster, err = workloadcluster.Start(context.WithoutCancel(t.Context()), workloadcluster.Options{DataDir: dir, BinDir: BinDir()}); err != nil {
		t.Fatal(err)
	}
	return workload.cluster
}

// stopWorkload ends the workload cluster, if a test has started it, and returns the exit status.
func stopWorkload(code int) int {
	if workload.cluster != nil {
		if err := workload.cluster.Stop(); err != nil {
			code = max(code, report(err))
		}
	}
	if code == 0 {
		_ = os.RemoveAll(workload.dir)
	} else if workload.dir != "" {
		_, _ = fmt.Fprintf(os.Stderr, "the logs of the workload cluster are kept in %s\n", localcluster.LogDir(workload.dir))
	}
	return code
}
