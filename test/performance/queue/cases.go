// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// target is what a figure of ours is held against.
type target struct {
	// figure names it.
	figure string
	// peer, if set, is the queue whose figure is divided by ours; the quotient
	// must be at least want. Otherwise our figure must be at most want. A want
	// of noTarget only shows the figure.
	peer string
	want float64
}

type testCase struct {
	name    string
	run     workload
	targets []target
}

const noTarget = -1

// cpuTargets returns the targets for processor time per item.
func cpuTargets(runtime, client float64) []target {
	return []target{{"cpu-ns/item", runtimePeer, runtime}, {"cpu-ns/item", clientPeer, client}}
}

// cases are the workloads and targets of the priority queue.
var cases = []testCase{
	{name: "fill-drain-1k", run: fillDrain(1000, 300, 1, false), targets: cpuTargets(6, 1.5)},
	{name: "fill-drain-100k", run: fillDrain(100_000, 5, 1, false),
		targets: append(cpuTargets(6, 1.5), target{"allocs/item", "", 0.02})},
	{name: "fill-drain-1M", run: fillDrain(1_000_000, 2, 1, false), targets: cpuTargets(6, 1.5)},
	{name: "fill-drain-100k-metrics", run: fillDrain(100_000, 5, 1, true), targets: cpuTargets(10, 1.5)},
	{name: "fill-drain-100k-25-priorities", run: fillDrain(100_000, 5, 25, false), targets: cpuTargets(1, 0.5)},
	{name: "fill-drain-100k-own-priorities", run: fillDrain(100_000, 5, 0, false), targets: cpuTargets(1, 0.5)},
	{name: "steady", run: steady, targets: append(cpuTargets(6, 1.5), target{"allocs/item", "", 0.0001})},
	{name: "throughput-1", run: throughput(1, false), targets: cpuTargets(7, 1.5)},
	{name: "throughput-8", run: throughput(8, false), targets: cpuTargets(7, 1.5)},
	{name: "throughput-64", run: throughput(64, false), targets: cpuTargets(7, 1.5)},
	{name: "throughput-1000", run: throughput(1000, false), targets: cpuTargets(7, 1.5)},
	{name: "throughput-8-metrics", run: throughput(8, true), targets: cpuTargets(7, 1.5)},
	{name: "wake-1", run: wakeUp(1), targets: wakeTargets},
	{name: "wake-8", run: wakeUp(8), targets: wakeTargets},
	{name: "wake-64", run: wakeUp(64), targets: wakeTargets},
	{name: "wake-1000", run: wakeUp(1000), targets: wakeTargets},
	{name: "raise", run: raise, targets: []target{
		{"cpu-ns/item", runtimePeer, 12}, {"allocs/item", "", 0.0001}}},
	{name: "restart-storm", run: restartStorm,
		targets: []target{{"p50-µs", "", noTarget}, {"p99-µs", runtimePeer, 1}, {"max-µs", runtimePeer, 8}}},
	{name: "delayed-100k", run: delays, targets: []target{{"p99-µs", "", 10_000},
		{"cpu-ns/item", runtimePeer, 1}, {"cpu-ns/item", clientPeer, 1.5}}},
	{name: "preloaded-1M-full-speed", run: preloaded(1000, 0),
		targets: []target{{"cpu-ns/get", runtimePeer, 300}, {"cpu-ns/get", clientPeer, 1.5}, {"gets/s", "", noTarget}, {"add-p999-µs", "", noTarget}}},
	{name: "preloaded-1M-10k-per-s", run: preloaded(1000, 10_000), targets: []target{{"add-p99-µs", "", noTarget}, {"add-p999-µs", "", 3}, {"nothing-p999-µs", "", noTarget}}},
	{name: "preloaded-1M-10k-per-s-alone", run: preloaded(0, 10_000), targets: []target{{"add-p99-µs", "", noTarget}, {"add-p999-µs", "", noTarget}}},
	{name: "busy-in-front", run: busyInFront, targets: cpuTargets(100, 1.5)},
	{name: "held", run: held(false), targets: []target{{"held-bytes/item", "", 100}, {"kept-bytes/item", "", noTarget}}},
	{name: "held-metrics", run: held(true), targets: []target{{"held-bytes/item", "", 100}}},
	{name: "idle", run: idle, targets: []target{{"goroutines", "", 0}}},
	{name: "starvation-aging-1s", run: starvation, targets: []target{{"first-s", "", 1.1}, {"last-s", "", noTarget}, {"served", "", noTarget}}},
}

var wakeTargets = []target{{"p50-µs", "", noTarget}, {"p99-µs", runtimePeer, 15}, {"p99-µs", clientPeer, 1.5}}
