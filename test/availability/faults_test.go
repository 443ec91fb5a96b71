// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "let every fault meet the servers and the etcd cluster, and last, instead of a minute's worth")

// chosen returns all values with -long, and one of them otherwise.
func chosen(one int) []int {
	if *long {
		return []int{0, 1, 2}
	}
	return []int{one}
}

// serving returns the server that answers the load.
func (s *set) serving() (serving int) {
	s.Helper()
	before := make([]float64, len(s.servers))
	for i := range s.servers {
		before[i] = s.written(i)
	}
	s.eventually("a server answers the load", func() error {
		for serving = range s.servers {
			if s.pid(serving) != 0 && s.written(serving) > before[serving] {
				return nil
			}
		}
		return errors.New("none does")
	})
	return serving
}

// written returns how many updates of the load's objects a server has answered.
func (s *set) written(i int) (n float64) {
	s.Helper()
	_, _, text := s.ask(s.servers[i].direct, "/metrics")
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `resource="virtualmachineclasses"`) || !strings.Contains(line, `verb="UPDATE"`) && !strings.Contains(line, `verb="PUT"`) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		if err != nil {
			s.Fatal(err)
		}
		n += value
	}
	return n
}

// Servers and etcd members are killed and cut off from each other, and members are restarted. No
// acknowledged write is lost, done twice, or hidden from a later read, and no client waits for long.
func TestServers_LoseNoWriteWhenServersAndEtcdMembersFail(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t, 3)
	s := newSet(t, etcd, "--shutdown-delay-duration=2s")
	l := newLoad(t, s.RestConfig())
	l.flows()
	for _, i := range chosen(s.serving()) {
		l.during("SIGKILL of "+s.servers[i].name, func() {
			s.kill(i)
			l.flows()
		})
		s.start(i)
	}
	for _, i := range chosen(etcd.leader()) {
		etcd.diesUnder(l, i)
	}
	if *long {
		etcd.diesUnder(l, etcd.leader())
	}
	for _, i := range chosen(s.serving()) {
		i := i
		if *long {
			i = s.serving()
		}
		waited := l.during(s.servers[i].name+" is cut off from etcd", func() {
			heal := s.isolate(i)
			<-time.After(cut())
			l.flows()
			heal()
			s.revived(i)
		}, etcdFailed, cancelled)
		if waited > maxWait {
			t.Errorf("a client waited %s, at most %s are allowed", waited, maxWait)
		}
	}
	for _, i := range chosen(etcd.leader()) {
		l.during(fmt.Sprintf("restart of %s, leads: %t", etcd.members[i].spec.Name, i == etcd.leader()), func() {
			etcd.stop(i)
			etcd.start(i)
			l.flows()
		}, etcdFailed, cancelled)
	}
	l.check()
}

// maxWait is the longest time that a client may wait because one server is cut off from etcd.
const maxWait = 10 * time.Second

// cut is how long a server is cut off from etcd.
func cut() time.Duration {
	if *long {
		return time.Minute
	}
	return maxWait + 2*time.Second
}

// diesUnder kills a member under load and restarts it.
func (e *etcd) diesUnder(l *load, i int) {
	e.Helper()
	l.during(fmt.Sprintf("SIGKILL of %s, leads: %t", e.members[i].spec.Name, i == e.leader()), func() {
		e.kill(i)
		l.flows()
	}, etcdFailed, cancelled)
	e.start(i)
}
