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

// figures are what one run of a workload measured, by name.
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

// measured runs f for n items and returns processor time, wall time,
// allocations and allocated bytes per item.
func measured(n int, f func()) figures {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpuBefore, start := cpu(), time.Now()
	f()
	wall, used := time.Since(start), cpu()-cpuBefore
	runtime.ReadMemStats(&after)
	per := func(v float64) float64 { return v / float64(n) }
	return figures{
		"cpu-ns/item": per(float64(used)),
		"ns/item":     per(float64(wall)),
		"allocs/item": per(float64(after.Mallocs - before.Mallocs)),
		"bytes/item":  per(float64(after.TotalAlloc - before.TotalAlloc)),
	}
}

// heap returns the bytes in use after a collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// percentiles adds the usual ones of some durations to f, in microseconds.
func (f figures) percentiles(prefix string, d []time.Duration) {
	if len(d) == 0 {
		return
	}
	slices.Sort(d)
	at := func(q float64) float64 {
		return float64(d[min(int(q*float64(len(d))), len(d)-1)]) / 1e3
	}
	f[prefix+"p50-µs"], f[prefix+"p99-µs"] = at(0.5), at(0.99)
	f[prefix+"p999-µs"], f[prefix+"max-µs"] = at(0.999), at(1)
}

// until waits for a condition; it panics after a minute, as nothing measured
// here takes that long.
func until(what string, f func() bool) {
	deadline := time.Now().Add(time.Minute)
	for !f() {
		if time.Now().After(deadline) {
			panic("waited a minute for " + what)
		}
		runtime.Gosched()
	}
}
