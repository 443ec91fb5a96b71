// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestTheHeapAimsBelowTheMemoryLimitOfTheContainer(t *testing.T) {
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

func TestGarbageIsCollectedAsTheFlagSaysUnlessTheEnvironmentDoes(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for env, want := range map[string]int{"": 40, "300": 100} {
		t.Setenv("GOGC", env)
		debug.SetGCPercent(100) // what the runtime has read of the environment
		collectGarbage(40)
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: the heap may grow by %d %%, want %d", env, got, want)
		}
	}
}
