// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"math"

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
