// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"flag"
	"strings"
	"testing"
)

var (
	rolls      = flag.Int("rolls", 5, "with -long, rolling restarts of three servers")
	serverArgs = flag.String("server-args", "", "further arguments of the servers of the rolling restarts, separated by blanks")
)

// A server that is restarted answers with Retry-After, or closes its connections. With -long the test measures the
// rolling restarts in docs/contributing/benchmarks.md.
func TestServers_RollWithoutALostWrite(t *testing.T) {
	t.Parallel()
	args := append([]string{"--shutdown-delay-duration=2s"}, strings.Fields(*serverArgs)...)
	s := newSet(t, newEtcd(t, 3), args...)
	l := newLoad(t, s.RestConfig())
	l.flows()
	rounds := 1
	if *long {
		rounds = *rolls
	}
	before, failed := l.requests.Load(), map[failure]int{}
	restarts := 0
	for range rounds {
		for _, i := range chosen(s.serving()) {
			restarts++
			l.during("restart of "+s.servers[i].name, func() {
				s.stop(i)
				s.start(i)
				l.flows()
			})
			for f, n := range l.lastFailures() {
				failed[f] += n
			}
		}
	}
	all, sum := l.requests.Load()-before, 0
	for _, n := range failed {
		sum += n
	}
	t.Logf("arguments %q: %d restarts, %d requests, %.1f of 10,000 failed, by kind %v", args, restarts, all, float64(sum)*10_000/float64(all), failed)
	l.check()
}

// lastFailures returns the failures of the last call of during.
func (l *load) lastFailures() map[failure]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.failures
	l.failures = map[failure]int{}
	return taken
}
