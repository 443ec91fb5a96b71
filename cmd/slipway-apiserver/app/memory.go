// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/klog/v2"
)

// memoryRatio is how much of what the container may have the heap and the runtime aim at:
// what is left is for files that the embedded etcd maps, and for the moment.
const memoryRatio = 0.9

// limitMemory lets the garbage be collected more often before the container is killed for
// its memory. GOMEMLIMIT in the environment goes before. limit is what the container may have.
func limitMemory(limit memlimit.Provider) {
	bytes, err := memlimit.Set(memlimit.WithRatio(memoryRatio), memlimit.WithProvider(limit))
	switch {
	case err != nil:
		klog.Background().Info("The memory limit of the container is not known, and is not looked at", "cause", err.Error())
	case bytes != math.MaxInt64:
		klog.Background().Info("Collecting garbage by a memory limit", "bytes", bytes)
	}
}

// defaultGCPercent is that of Go.
const defaultGCPercent = 100

// collectGarbage lets the heap grow by percent of what is in use before it is collected.
// GOGC in the environment goes before.
func collectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// settled is how long after its caches are filled a server has done what a start takes: the
// passes over all objects, and what clients ask for that had to wait.
const settled = time.Minute

// returnMemory gives the memory that a start took and that is not in use any more back to
// the system once the server has settled. By itself the runtime keeps as much as the heap
// had grown to, for a heap that does not grow to that again before the next start.
func returnMemory(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(settled):
		debug.FreeOSMemory()
	}
}
