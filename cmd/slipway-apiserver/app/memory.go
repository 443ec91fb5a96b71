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

const (
	// settled is how long after it began to serve a server has done what a start takes: filling
	// its caches, passes over all objects, and what clients ask for that had to wait.
	settled = time.Minute
	// smallHeap is what the heap of a settled server may grow to before it is collected, however
	// little of it is in use: half of what artifacts/deploy asks for. A small server holds 50 MB,
	// and at Go's default spends a fifth of what a write costs on collecting 50 MB again and again.
	smallHeap = 256 << 20
	// mostGrowth bounds what a heap grows to that fills between two looks.
	mostGrowth = 400
	// heapInterval is how often it is looked how much is in use.
	heapInterval = 10 * time.Second
)

// tendMemory gives the memory that a start took and that is not in use any more back to the
// system once the server has settled. By itself the runtime keeps as much as the heap had grown
// to, for a heap that does not grow to that again before the next start. From then on it lets a
// small heap grow to smallHeap, and others by percent, until ctx is done.
func tendMemory(ctx context.Context, percent int) {
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

// growth is by how many percent a heap may grow of which so many bytes are in use, in steps of ten:
// what is set is set for all processors, which stop for it.
func growth(used uint64, percent int) int {
	if used == 0 || used >= smallHeap {
		return percent
	}
	return max(percent, min(mostGrowth, int((smallHeap-used)*10/used)*10))
}

// inUse is how many bytes of the heap were in use when it was last collected.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
