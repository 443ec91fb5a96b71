// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
)

// The node of the last replica is lost for good: nobody tells its member to leave, and with it in
// the cluster the other one that is to go must not be the first. Which of the two that live leads
// makes a difference, for it is who leads that removes the dead.
func TestThreeReplicasShrinkToOneAsDocumentedWhileOneIsDead(t *testing.T) {
	t.Parallel()
	s := newSet(t, "--shutdown-delay-duration=2s")
	s.service.keeps.Store(true)
	k := newKeeper(s)
	k.obey()
	commands := s.documentedIn("### Several replicas with the embedded one")
	grow, shrink := s.next(&commands, "--replicas=3"), s.next(&commands, "--replicas=1")
	shrink = shrink[len(shrink)-1:]
	k.typed(grow...)
	k.obey()
	s.members(3)
	l := newLoad(t, s.RestConfig())
	l.flows()
	leaders := []int{1}
	if *long {
		leaders = []int{1, 0, 2}
	}
	for n, leader := range leaders {
		if n > 0 {
			k.kept(l, "grow again", grow...)
			s.members(3)
		}
		s.leads(leader)
		l.during(fmt.Sprintf("%s dies, %s leads", s.pods[2].name, s.pods[leader].name), func() {
			s.kill(2)
			if err := os.RemoveAll(s.pods[2].dir); err != nil {
				t.Fatal(err)
			}
			l.flows()
		})
		k.kept(l, "three shrink to one, one is dead", shrink...)
		s.members(1)
		s.alone(l)
	}
	l.check()
}

// leads makes the member of a replica lead.
func (s *set) leads(i int) {
	s.Helper()
	began := time.Now()
	for s.leader() != i {
		if time.Since(began) > deadline {
			s.Fatalf("%s does not lead", s.pods[i].name)
		}
		s.leaderApart(s.leader())
	}
}

// alone wants the first replica to serve, after a restart too, and nobody else to run.
func (s *set) alone(l *load) {
	s.Helper()
	if pids := []int{s.pid(1), s.pid(2)}; slices.Max(pids) != 0 {
		s.Errorf("replicas that were taken away run: %v", pids)
	}
	l.flows()
	if *long { // kube-apiserver takes half a minute to find out that its only one is back
		l.during("restart of the last one", func() {
			s.stop(0)
			s.start(0)
			l.flows()
		})
	}
	if code, _, text := s.ask(s.pods[0].direct, readiness); code != http.StatusOK {
		s.Errorf("alone it answers %d: %s", code, text)
	}
	s.members(1)
}
