// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package priorityqueue

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	"k8s.io/client-go/util/workqueue"
)

// TestQueue_Scenarios plays testdata/*.txtar. The comment of each file describes the
// scenario; its file "script" has one step per line:
//
//	queue [aging=D] [below=N] [fair]    creates the queue; fair groups by the text before "/"
//	add [priority=N] [after=D] [limited] KEY...
//	get KEY [priority=N]                a Get returns KEY immediately
//	get shutdown                        a Get returns shutdown immediately
//	NAME waits                          worker NAME calls Get, which blocks
//	NAME gets KEY | NAME gets shutdown  and has returned now
//	hand-outs KEY...                    Get and Done, KEY by KEY
//	done KEY, remove KEY, forget KEY, len N, requeues KEY N
//	wait D                              advances the time
//	shutdown, drain, drained, draining  drain runs ShutDownWithDrain in the background
//
// In add, remove and hand-outs, vm[1-1000] represents a thousand keys.
func TestQueue_Scenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				synctest.Test(t, func(t *testing.T) {
					s := &scenario{t: t, workers: map[string]chan string{}}
					for i, line := range strings.Split(string(f.Data), "\n") {
						s.at = fmt.Sprintf("%s:%s:%d: %s", file, f.Name, i+1, line)
						s.step(line)
					}
					s.q.ShutDown()
				})
			}
		})
	}
}

type scenario struct {
	t       *testing.T
	q       *Queue[string]
	workers map[string]chan string
	drained chan struct{}
	at      string
}

func (s *scenario) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\n%s", s.at, fmt.Sprintf(format, args...))
}

func (s *scenario) step(line string) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	if len(words) > 1 && (words[1] == "waits" || words[1] == "gets") {
		s.worker(words)
		return
	}
	switch args := words[1:]; words[0] {
	case "queue":
		s.queue(args)
	case "add":
		s.add(args)
	case "get":
		s.get(args)
	case "hand-outs":
		for _, key := range expand(args) {
			s.get([]string{key})
			s.q.Done(key)
		}
	case "done":
		s.q.Done(args[0])
	case "forget":
		s.q.Forget(args[0])
	case "remove":
		for _, key := range expand(args) {
			if !s.q.Remove(key) {
				s.fail("%s was not queued", key)
			}
		}
	case "len":
		s.equal("Len", s.q.Len(), s.number(args[0]))
	case "requeues":
		s.equal("NumRequeues", s.q.NumRequeues(args[0]), s.number(args[1]))
	case "wait":
		<-time.After(s.duration(args[0]))
		synctest.Wait()
	default:
		s.shutdown(words[0])
	}
}

func (s *scenario) queue(args []string) {
	options := []Option[string]{WithRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))}
	var aging Aging
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		switch name {
		case "aging":
			aging.After = s.duration(value)
		case "below":
			aging.Below = s.number(value)
		case "fair":
			options = append(options, WithFairness(func(key string) string {
				group, _, _ := strings.Cut(key, "/")
				return group
			}))
		}
	}
	if aging.After > 0 {
		options = append(options, WithAging[string](aging))
	}
	s.q = New("scenario", options...)
}

func (s *scenario) add(args []string) {
	var o AddOpts
	for len(args) > 0 {
		name, value, _ := strings.Cut(args[0], "=")
		switch name {
		case "priority":
			o.Priority = s.number(value)
		case "after":
			o.After = s.duration(value)
		case "limited":
			o.RateLimited = true
		default:
			s.q.AddWithOpts(o, expand(args)...)
			return
		}
		args = args[1:]
	}
}

func (s *scenario) get(args []string) {
	got := s.start("")
	synctest.Wait()
	select {
	case g := <-got:
		s.compare(g, args)
	default:
		s.fail("Get blocks")
	}
}

// compare compares "key priority" or "shutdown" with the expected result.
func (s *scenario) compare(got string, want []string) {
	key, priority, _ := strings.Cut(got, " ")
	if key != want[0] {
		s.fail("Get returned %s", got)
	}
	if len(want) > 1 && want[1] != "priority="+priority {
		s.fail("Get returned %s with priority %s", key, priority)
	}
}

// start calls Get in a goroutine, as the worker of that name.
func (s *scenario) start(name string) chan string {
	got := make(chan string, 1)
	s.workers[name] = got
	go func() {
		key, priority, shutdown := s.q.GetWithPriority()
		if shutdown {
			got <- "shutdown"
			return
		}
		got <- fmt.Sprint(key, " ", priority)
	}()
	return got
}

func (s *scenario) worker(words []string) {
	if words[1] == "waits" {
		if _, ok := s.workers[words[0]]; !ok {
			s.start(words[0])
		}
		synctest.Wait()
		select {
		case got := <-s.workers[words[0]]:
			s.fail("Get returned %s", got)
		default:
		}
		return
	}
	synctest.Wait()
	select {
	case got := <-s.workers[words[0]]:
		delete(s.workers, words[0])
		s.compare(got, words[2:])
	default:
		s.fail("Get blocks")
	}
}

func (s *scenario) shutdown(word string) {
	switch word {
	case "shutdown":
		s.q.ShutDown()
	case "drain":
		s.drained = make(chan struct{})
		go func() {
			s.q.ShutDownWithDrain()
			close(s.drained)
		}()
		synctest.Wait()
	case "drained", "draining":
		synctest.Wait()
		select {
		case <-s.drained:
			s.equal("drained", true, word == "drained")
		default:
			s.equal("drained", false, word == "drained")
		}
	default:
		s.fail("no such step")
	}
}

func (s *scenario) equal(what string, got, want any) {
	s.t.Helper()
	if got != want {
		s.fail("%s: %v, want %v", what, got, want)
	}
}

func (s *scenario) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.fail("%v", err)
	}
	return n
}

func (s *scenario) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.fail("%v", err)
	}
	return d
}

// expand replaces name[a-b] by the names with the numbers from a to b.
func expand(args []string) (keys []string) {
	for _, a := range args {
		var from, to int
		name, numbers, ok := strings.Cut(a, "[")
		if ok {
			_, err := fmt.Sscanf(numbers, "%d-%d]", &from, &to)
			ok = err == nil
		}
		if !ok {
			keys = append(keys, a)
			continue
		}
		for i := from; i <= to; i++ {
			keys = append(keys, name+strconv.Itoa(i))
		}
	}
	return keys
}
