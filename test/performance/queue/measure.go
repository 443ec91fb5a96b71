// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// figures are the results of one run of a workload, by name.
type figures map[string]float64

// keys returns n distinct keys; it allocates them before anything is measured.
func keys(prefix string, n int) []key {
	k := make([]key, n)
	for i := range k {
		k[i] = key{Namespace: "namespace-" + strconv.Itoa(i%50), Name: prefix + strconv.Itoa(i)}
	}
	return k
}

// cpu returns the processor time of this process, user and system.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(fmt.Sprintf("reading the processor time: %v", err))
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// measured runs f for n keys and returns the processor time per key.
func measured(n int, f func()) figures {
	runtime.GC()
	before := cpu()
	f()
	return figures{perKey: float64(cpu()-before) / float64(n)}
}

// heap returns the bytes in use after a collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// percentiles adds the percentiles of some durations to f, in microseconds.
func (f figures) percentiles(d []time.Duration) {
	slices.Sort(d)
	at := func(q float64) float64 {
		return float64(d[min(int(q*float64(len(d))), len(d)-1)]) / 1e3
	}
	f["p50-µs"], f["p99-µs"], f["max-µs"] = at(0.5), at(0.99), at(1)
}

// until waits for a condition. It panics after a minute, because no measurement takes that long.
func until(what string, f func() bool) {
	deadline := time.Now().Add(time.Minute)
	for !f() {
		if time.Now().After(deadline) {
			panic("waited a minute for " + what)
		}
		runtime.Gosched()
	}
}
