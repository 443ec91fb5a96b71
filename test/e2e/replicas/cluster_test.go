// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/localcluster/process"
)

var long = flag.Bool("long", false, "let every fault meet the cluster of etcd, and last, instead of a minute's worth")

// members waits until the record has so many full members.
func (s *set) members(n int) {
	s.Helper()
	s.eventually(fmt.Sprintf("there are %d members", n), func() error {
		m, err := s.host().CoreV1().ConfigMaps("slipway-system").Get(s.Context(), "slipway-etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lines := strings.Count(m.Data["members"], "\n"); lines != n || strings.Contains(m.Data["members"], "learner") {
			return fmt.Errorf("they are %q", m.Data["members"])
		}
		return nil
	})
}

// cluster is the ID in the record.
func (s *set) cluster() string {
	s.Helper()
	m, err := s.host().CoreV1().ConfigMaps("slipway-system").Get(s.Context(), "slipway-etcd", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return m.Data["cluster"]
}

// losesVolumes wants replicas that have lost theirs, one after the other, to join the cluster, also
// the one that has founded it.
func (s *set) losesVolumes(l *load, which ...int) {
	s.Helper()
	cluster := s.cluster()
	for _, i := range which {
		l.during("the volume of "+s.pods[i].name+" is lost", func() {
			s.kill(i)
			if err := os.RemoveAll(s.pods[i].dir); err != nil {
				s.Fatal(err)
			}
			s.start(i)
			s.members(3)
		})
	}
	if now := s.cluster(); now != cluster {
		s.Errorf("the cluster is %s, before %s", now, cluster)
	}
}

// hasNoQuorum waits until a replica says so, and whom it misses.
func (s *set) hasNoQuorum(i int, missing []int) {
	s.Helper()
	direct := s.pods[i].direct
	s.eventually(s.pods[i].name+" says that it has no quorum", func() error {
		code, again, text := s.ask(direct, "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachineclasses/load-0")
		if code != http.StatusServiceUnavailable || !again || !strings.Contains(text, "the embedded etcd has no quorum: no answer from ") {
			return fmt.Errorf("it answers %d, Retry-After %t: %s", code, again, text)
		}
		for _, j := range missing {
			if !strings.Contains(text, s.pods[j].name+" at ") {
				return fmt.Errorf("it does not name %s: %s", s.pods[j].name, text)
			}
		}
		return nil
	})
	if code, _ := s.answer(direct, "/readyz/etcd-quorum"); code != http.StatusInternalServerError {
		s.Errorf("readiness of %s: %d", s.pods[i].name, code)
	}
}

// stalls stops the process of a replica for a while.
func (s *set) stalls(i int, d time.Duration) {
	s.Helper()
	pid := s.pid(i)
	if err := process.Freeze(pid); err != nil {
		s.Fatal(err)
	}
	defer func() { _ = process.Thaw(pid) }()
	<-time.After(d)
}

// served is how long an API may be without service after the kill of one replica.
const served = 3 * time.Second

func TestAClusterOfTheEmbeddedEtcdServesOnAndLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	l := newLoad(t, s.RestConfig())
	l.flows()
	fault := 3 * time.Second
	if *long {
		fault = 30 * time.Second
	}
	l.during("one replica grows to three", func() {
		s.scaled(3)
		s.start(1, 2)
		s.members(3)
	})
	killed := []int{s.leader()}
	if *long {
		killed = []int{0, 1, 2, s.leader()}
	}
	for _, i := range killed {
		_, writes := l.during("SIGKILL of "+s.pods[i].name, func() {
			s.kill(i)
			l.flows()
		})
		if *long && writes > served {
			t.Errorf("no write for %s, want %s at most", writes, served)
		}
		s.start(i)
	}
	if *long {
		for i := range s.pods {
			l.during("restart of "+s.pods[i].name, func() {
				s.stop(i)
				s.start(i)
			})
		}
	}
	if *long {
		l.during("two of three are killed", func() {
			for _, i := range []int{0, 1} {
				s.kill(i)
			}
			s.hasNoQuorum(2, []int{0, 1})
			s.start(1, 0) // which waits for a quorum
			l.flows()
		})
	}
	l.during("SIGSTOP of the leader", func() {
		i := s.leader()
		s.stalls(i, fault)
		s.revived(i)
	})
	l.during("the leader is cut off", func() {
		i := s.leader()
		heal := s.links.isolate(s.pods[i].name)
		<-time.After(fault)
		l.flows()
		heal()
		s.revived(i)
	})
	s.losesVolumes(l, 2, 0)
	l.during("three replicas shrink to one", func() {
		s.scaled(1)
		var stopping sync.WaitGroup
		for i := range s.pods[1:] {
			stopping.Go(func() { s.stop(1 + i) })
		}
		stopping.Wait()
		s.members(1)
		l.flows()
	})
	l.check()
}
