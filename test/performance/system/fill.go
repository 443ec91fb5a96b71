// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// fillBatch is the size of the bursts that fill the environment. Each burst has its own namespace.
const fillBatch = 1000

// filled describes how the environment was filled.
type filled struct {
	machines int
	took     time.Duration
	spent    map[string]time.Duration
}

// fill creates machines up to the desired number or a time limit.
func (e *environment) fill(ctx context.Context) (filled, error) {
	var f filled
	begin := time.Now()
	before, err := e.sample(ctx)
	if err != nil {
		return f, err
	}
	for i := 0; e.machines < e.settings.stable; i++ {
		if time.Since(begin) > e.settings.fillLimit {
			progress("no time is left to make more machines than %d", e.machines)
			break
		}
		n := min(fillBatch, e.settings.stable-e.machines)
		b, err := e.burst(ctx, fmt.Sprintf("fill-%02d", i), n)
		if err != nil {
			return f, err
		}
		f.machines += b.machines
	}
	after, err := e.sample(ctx)
	if err != nil {
		return f, err
	}
	f.took, f.spent = time.Since(begin), after.since(before).cpu
	return f, nil
}
