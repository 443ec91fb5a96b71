// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// starting are replicas whose start waits.
type starting struct {
	*replicas
	mu     sync.Mutex
	waits  map[string]string
	ended  sync.WaitGroup
	cancel context.CancelFunc
}

// begin starts replicas, and does not wait for them.
func (r *replicas) begin(names ...string) *starting {
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	s := &starting{replicas: r, waits: map[string]string{}, cancel: cancel}
	for _, name := range names {
		o := r.options(name)
		o.Waits = func(reason string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waits[name] = reason
		}
		s.ended.Go(func() {
			m, err := Start(ctx, o)
			r.mu.Lock()
			defer r.mu.Unlock()
			switch {
			case err == nil:
				r.all[name] = m
			case !errors.Is(err, context.Canceled):
				r.Errorf("starting %s: %v", name, err)
			}
		})
	}
	return s
}

// wait waits until each of them has said all texts, and nobody has started.
func (s *starting) wait(names []string, texts ...string) {
	s.Helper()
	s.until("the replicas wait", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, name := range names {
			for _, text := range texts {
				if !strings.Contains(s.waits[name], text) {
					return errors.New(name + " waits for: " + s.waits[name])
				}
			}
		}
		return nil
	})
}

// started waits until all have.
func (s *starting) started() {
	s.Helper()
	s.ended.Wait()
	if s.Failed() {
		s.FailNow()
	}
}

// until waits for a condition.
func (r *replicas) until(what string, check func() error) {
	r.Helper()
	var err error
	for began := time.Now(); time.Since(began) < deadline; {
		if err = check(); err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
	r.Fatalf("%s: %v", what, err)
}

// say writes the annotation.
func (r *replicas) say(lost string) {
	r.Helper()
	patch := []byte(`{"metadata":{"annotations":{"` + LostAnnotation + `":"` + lost + `"}}}`)
	if _, err := r.host.CoreV1().ConfigMaps(namespace).Patch(r.Context(), ConfigMapName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
}

// said is the annotation.
func (r *replicas) said() string {
	r.Helper()
	m, err := r.host.CoreV1().ConfigMaps(namespace).Get(r.Context(), ConfigMapName, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return m.Annotations[LostAnnotation]
}

func TestAClusterOfWhichNothingIsLeftIsFoundedAnewWhenSomebodySaysThatItIsLost(t *testing.T) {
	t.Parallel()
	for name, all := range map[string][]string{"three": {"r-0", "r-1", "r-2"}, "one": {"r-0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t, len(all))
			r.start(all...)
			r.members("r-0", all...)
			r.put("r-0", "/n", "before")
			before := hex(r.record().cluster)
			r.stop(all...)
			for _, name := range all {
				r.lose(name)
			}

			s := r.begin(all...)
			s.wait(all, before, "is the right volume mounted?", "kubectl annotate configmap --overwrite -n "+namespace+" "+ConfigMapName+" "+LostAnnotation+"="+before)
			r.say("abc")
			s.wait(all, `says that "abc" is lost, which is another one`)
			if now := r.record(); hex(now.cluster) != before {
				t.Fatalf("nobody has said that the cluster is lost, and there is another one: %+v", now)
			}
			r.say(before)
			s.started()
			r.members("r-0", all...)
			if now := hex(r.record().cluster); now == before || now == "0" || r.said() != "" {
				t.Errorf("the cluster is %s, before %s, and is said to be lost: %q", now, before, r.said())
			}
			r.has(map[string]string{"/n": ""})
			r.put("r-0", "/n", "after")
			r.has(map[string]string{"/n": "after"})
		})
	}
}

// Somebody is wrong: r-0 has the data, and lacks a quorum only.
func TestAClusterIsNotFoundedAnewWhileOneOfItsMembersAnswers(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	all := []string{"r-0", "r-1", "r-2"}
	r.start(all...)
	r.members("r-0", all...)
	r.put("r-0", "/kept", "v")
	cluster := hex(r.record().cluster)
	r.stop(all...)
	r.lose("r-1")
	first, second := r.begin("r-0"), r.begin("r-1")
	second.wait([]string{"r-1"}, "it asks to join the cluster "+cluster)
	r.say(cluster)
	second.wait([]string{"r-1"}, "said to be lost", "r-0 at "+r.ports.Address("r-0")+" answers", "etcd recover "+cluster)
	r.start("r-2")
	first.started()
	second.started()
	r.members("r-0", all...)
	r.has(map[string]string{"/kept": "v"})
	if now, said := hex(r.record().cluster), r.said(); now != cluster || said != "" {
		t.Errorf("the cluster is %s, before %s, and is said to be lost: %q", now, cluster, said)
	}
}

// What is left is for a restore.
func TestWhoFoundsAnewPutsADatabaseWithoutALogAside(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 1)
	r.start("r-0")
	r.put("r-0", "/n", "before")
	cluster := hex(r.record().cluster)
	r.stop("r-0")
	member := filepath.Join(r.dir, "r-0", "member-data", "member")
	if err := os.RemoveAll(filepath.Join(member, "wal")); err != nil {
		t.Fatal(err)
	}
	s := r.begin("r-0")
	s.wait([]string{"r-0"}, "it was the only member of the cluster "+cluster, "a database and no write-ahead log")
	r.say(cluster)
	s.started()
	left, err := filepath.Glob(filepath.Join(r.dir, "r-0", "member-data.before-*", "member", "snap", "db"))
	if err != nil || len(left) != 1 {
		t.Errorf("the database of before is in %q (%v)", left, err)
	}
}
