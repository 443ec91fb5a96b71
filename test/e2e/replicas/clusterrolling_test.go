// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"testing"
)

// rolls is how often all replicas are restarted, of which each leads once.
func rolls() int {
	if *long {
		return 10
	}
	return 1
}

// The replicas are restarted as their StatefulSet does it: one after the other, the next when
// the last one is ready again.
func TestAClusterThatIsRestartedOneByOneFailsNoRequest(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=2s")
	s.service.keeps.Store(true)
	s.scaled(3)
	s.start(1, 2)
	s.members(3)
	l := newLoad(t, s.RestConfig())
	l.flows()
	for n := range rolls() {
		for i := range s.pods {
			leads := s.leader() == i
			l.during(fmt.Sprintf("restart %d of %s, leads: %t", n+1, s.pods[i].name, leads), func() {
				s.stop(i)
				s.start(i)
				l.flows()
			})
			if failed := l.failed(); len(failed) > 0 {
				t.Errorf("requests that failed: %v", failed)
			}
		}
	}
	l.check()
}
