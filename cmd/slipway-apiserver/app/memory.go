// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/klog/v2"
)

// memoryRatio is the part of the container's memory limit that GOMEMLIMIT is set to. The rest is for the files that
// the embedded etcd maps and for short peaks.
const memoryRatio = 0.9

// limitMemory sets a soft memory limit below the container's limit, so that garbage is collected more often near it.
// The variable GOMEMLIMIT takes precedence. limit returns the container's limit.
func limitMemory(limit memlimit.Provider) {
	bytes, err := memlimit.Set(memlimit.WithRatio(memoryRatio), memlimit.WithProvider(limit))
	switch {
	case err != nil:
		klog.Background().Info("Cannot read the memory limit of the container; no soft limit is set", "cause", err.Error())
	case bytes != math.MaxInt64:
		klog.Background().Info("Set the soft memory limit", "bytes", bytes)
	}
}

// defaultGCPercent is Go's default.
const defaultGCPercent = 100

// setGCPercent sets the heap growth that triggers a collection, in percent. The variable GOGC takes precedence.
func setGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

const (
	// settled is the time after which the start-up load is over: filling caches, reconciling all objects and serving
	// requests that had to wait.
	settled = time.Minute
	// smallHeap is the size up to which the heap of a settled server may grow regardless of its use. It is half of
	// the memory request in artifacts/deploy. A small server uses 50 MB; with Go's default, collecting these takes a
	// fifth of the CPU time of a write.
	smallHeap = 256 << 20
	// mostGrowth bounds the growth of a heap that fills quickly between two checks.
	mostGrowth = 400
	// heapInterval is the time between two checks of the heap in use.
	heapInterval = 10 * time.Second
)

// manageMemory returns unused memory to the system when the server has settled, because the runtime would retain the
// peak of the start. From then until ctx is done it lets a small heap grow to smallHeap, and larger heaps by
// percent.
func manageMemory(ctx context.Context, percent int) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(settled):
		debug.FreeOSMemory()
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	look := time.NewTicker(heapInterval)
	defer look.Stop()
	for set := percent; ; {
		if now := growth(inUse(), percent); now != set {
			set = now
			debug.SetGCPercent(set)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// growth returns the growth in percent for a heap with inUse bytes in use, in steps of ten. Steps avoid frequent
// changes, each of which stops all processors.
func growth(used uint64, percent int) int {
	if used == 0 || used >= smallHeap {
		return percent
	}
	return max(percent, min(mostGrowth, int((smallHeap-used)*10/used)*10))
}

// inUse returns the heap in use after the last collection, in bytes.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
