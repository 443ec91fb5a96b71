// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// The targets. They apply to the processor time per key of each compared workload.
const (
	// fewerThanRuntime is the least quotient of controller-runtime's figure and ours.
	fewerThanRuntime = 4
	// timesClientGo is the greatest quotient of our figure and client-go's.
	timesClientGo = 3
)

// perKey is the figure that is compared.
const perKey = "cpu-ns/key"

type testCase struct {
	name string
	run  workload
	// figures are shown without a target. If there are none, perKey is compared.
	figures []string
}

var cases = []testCase{
	{name: "steady", run: steady},
	{name: "fill-drain-1k", run: fillDrain(1000, 300, 1)},
	{name: "fill-drain-100k", run: fillDrain(100_000, 5, 1)},
	{name: "fill-drain-1M", run: fillDrain(1_000_000, 2, 1)},
	{name: "fill-drain-100k-25-priorities", run: fillDrain(100_000, 5, 25)},
	{name: "throughput-1", run: throughput(1)},
	{name: "throughput-8", run: throughput(8)},
	{name: "throughput-64", run: throughput(64)},
	{name: "throughput-1000", run: throughput(1000)},
	{name: "raise", run: raise, figures: []string{perKey}},
	{name: "busy-in-front", run: busyInFront, figures: []string{perKey}},
	{name: "delayed-100k", run: delays, figures: []string{perKey, "p50-µs", "p99-µs"}},
	{name: "wake-8", run: wakeUp(8), figures: []string{perKey, "p50-µs", "p99-µs"}},
	{name: "restart-storm", run: restartStorm, figures: []string{"p50-µs", "p99-µs", "max-µs"}},
	{name: "starvation", run: starvation, figures: []string{"first-s", "served"}},
	{name: "held", run: held, figures: []string{"held-bytes/key", "kept-bytes/key", "goroutines"}},
}
