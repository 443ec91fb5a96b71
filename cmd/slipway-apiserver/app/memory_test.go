// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestMemoryLimit_IsBelowThatOfTheContainer(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const limit = 4 << 30
	for _, test := range []struct {
		name  string
		limit memlimit.Provider
		env   string
		want  int64
	}{
		{name: "of a container", limit: memlimit.Limit(limit), want: limit * 9 / 10},
		{name: "none", limit: func() (uint64, error) { return 0, memlimit.ErrNoLimit }, want: math.MaxInt64},
		{name: "one that cannot be read", limit: func() (uint64, error) { return 0, errors.New("no cgroup") }, want: 1 << 40},
		{name: "of the environment", limit: memlimit.Limit(limit), env: "1TiB", want: 1 << 40},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.env != "" {
				t.Setenv("GOMEMLIMIT", test.env)
			}
			debug.SetMemoryLimit(1 << 40)
			limitMemory(test.limit)
			if got := debug.SetMemoryLimit(-1); got != test.want {
				t.Errorf("limit %d, want %d", got, test.want)
			}
		})
	}
}

func TestHeap_GrowsToAMinimumOrByAPercentage(t *testing.T) {
	const mb = 1 << 20
	for _, tc := range []struct {
		used    uint64
		percent int
		want    int
	}{
		{0, 100, 100}, // nothing was collected yet
		{16 * mb, 100, 400},
		{60 * mb, 100, 320},
		{100 * mb, 100, 150},
		{100 * mb, 200, 200},
		{128 * mb, 100, 100},
		{250 * mb, 50, 50},
		{1000 * mb, 50, 50},
	} {
		if got := growth(tc.used, tc.percent); got != tc.want {
			t.Errorf("with %d MB in use and %d %% it grows by %d %%, want %d", tc.used/mb, tc.percent, got, tc.want)
		}
	}
}

func TestGarbageCollection_FollowsTheFlagUnlessTheEnvironmentIsSet(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for env, want := range map[string]int{"": 40, "300": 100} {
		t.Setenv("GOGC", env)
		debug.SetGCPercent(100) // the value from the environment
		setGCPercent(40)
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: the heap may grow by %d %%, want %d", env, got, want)
		}
	}
}

func TestHeap_SmallOneGrowsFurtherAfterTheStart(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for env, grows := range map[string]bool{"": true, "300": false} {
		synctest.Test(t, func(t *testing.T) {
			t.Setenv("GOGC", env)
			debug.SetGCPercent(100)
			runtime.GC() // so that the runtime knows the heap size, which is below smallHeap
			ctx, cancel := context.WithCancel(t.Context())
			go manageMemory(ctx, 100)
			time.Sleep(settled - time.Second)
			synctest.Wait()
			if got := debug.SetGCPercent(100); got != 100 {
				t.Errorf("GOGC=%q: the heap of a server that starts may grow by %d %%", env, got)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := debug.SetGCPercent(100); (got > 100) != grows {
				t.Errorf("GOGC=%q: the heap may grow by %d %%, want more than 100 %%: %t", env, got, grows)
			}
			cancel()
		})
	}
}
