// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster"
)

var (
	long       = flag.Bool("long", false, "take 300 machines and 20 kills instead of a minute's worth")
	seed       = flag.Uint64("seed", 0, "repeat the orders and events of a run; 0 takes that of -test.shuffle, or draws one")
	external   = flag.Bool("external-etcd", false, "let the server use an etcd of its own instead of the embedded one")
	eventsFlag = flag.String("events", "", "names of the events, separated by commas, or all; empty selects those that need not be listed")
)

func TestChaos_LosesDuplicatesAndLeavesNothing(t *testing.T) {
	machines, rounds, settle := 24, 4, 2*time.Minute
	if *long {
		machines, rounds, settle = 300, 20, 10*time.Minute
	}
	names, err := selected(*eventsFlag)
	if err != nil {
		t.Fatal(err)
	}
	if *seed == 0 {
		*seed = otherwise(flag.Lookup("test.shuffle").Value.String())
	}
	t.Logf("%d machines, %d rounds, events %s; -seed=%d repeats them", machines, rounds, strings.Join(names, ","), *seed)
	s := begin(t, machines, rounds)
	ctx := t.Context()
	for round := range rounds {
		if err := s.round(ctx, round, names); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if err := s.calm(ctx); err != nil {
		t.Fatal(err)
	}
	s.settled(settle, "after the storm")
	s.backedUp(names)
	s.leavesNothing(settle, names)
	s.emptied(settle)
}

// otherwise returns the seed of the shuffle of the tests. Packages that run together with chaos have no flag -seed, so
// a run of them can be repeated with -shuffle.
func otherwise(shuffle string) uint64 {
	if s, err := strconv.ParseUint(shuffle, 10, 64); err == nil && s != 0 {
		return s
	}
	return rand.Uint64()
}

// begin starts the environment and creates foreign objects, which must not change.
func begin(t *testing.T, machines, rounds int) *storm {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs are kept in %s", localcluster.LogDir(dir))
			return
		}
		_ = os.RemoveAll(dir)
	})
	args, etcd := []string{"--v=2"}, ""
	if *external {
		etcd = t.TempDir()
		args = append(args, "--etcd-servers="+startEtcd(t, etcd), "--etcd-unsafe-no-fsync=false")
	}
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{
		DataDir: dir, BinDir: "../../bin", UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond,
		SlipwayArgs: args, VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	random := rand.New(rand.NewPCG(*seed, 0))
	s := &storm{
		t: t, cluster: cluster, random: random, fleet: newFleet(machines, rounds, random), etcd: etcd,
	}
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// startEtcd starts an etcd that keeps running when the server is killed, and returns its endpoint.
func startEtcd(t *testing.T, dir string) string {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	return etcd.Endpoint()
}

// settled waits until all objects are in their desired state.
func (s *storm) settled(limit time.Duration, when string) {
	s.t.Helper()
	begun := time.Now()
	var found []string
	err := s.until(s.t.Context(), limit, "all objects are in their desired state", func(ctx context.Context) error {
		seen, err := s.check.Look(ctx)
		if err != nil {
			return err
		}
		if found = s.check.Problems(s.fleet.wanted(), namespaceNames(), seen); len(found) > 0 {
			return fmt.Errorf("%d problems", len(found))
		}
		return s.foreignDisksStay(ctx)
	})
	if err != nil {
		s.t.Errorf("%s: %v\n%d problems in the last observation:\n%s", when, err, len(found), strings.Join(found, "\n"))
		s.explain(found)
		return
	}
	s.t.Logf("%s: %d machines are in their desired state after %s", when, len(s.fleet.wanted()), time.Since(begun).Round(time.Second))
}

// leavesNothing injects failures again with a new process, which must then return to its previous resource usage.
// Resources of an earlier process end with that process.
func (s *storm) leavesNothing(limit time.Duration, names []string) {
	s.t.Helper()
	ctx := s.t.Context()
	earlier, err := s.sessions(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	begun := s.started
	s.started = time.Now()
	if err := s.cluster.RestartSlipway(ctx); err != nil {
		s.t.Fatal(err)
	}
	err = s.until(ctx, limit, "the new process reconciles", func(ctx context.Context) error {
		return s.works(ctx, len(s.fleet.wanted()))
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.settled(limit, "after a restart")
	fresh, err := s.settledUse(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("after the restart %s", fresh)
	for key, at := range earlier {
		// A session of a killed process cannot be logged out.
		if _, kept := fresh.sessions[key]; kept && !at.Before(begun) {
			s.t.Errorf("left: the session %s of a process that has ended", key)
		}
	}
	survivable := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == kill })
	if err := s.round(ctx, s.fleet.rounds, survivable); err != nil {
		s.t.Fatal(err)
	}
	if err := s.calm(ctx); err != nil {
		s.t.Fatal(err)
	}
	s.settled(limit, "after a storm around the same process")
	err = s.until(ctx, limit, "the process returns to its previous resource usage", func(ctx context.Context) error {
		tired, err := s.use(ctx)
		if err != nil {
			return err
		}
		return tired.left(fresh, s.started)
	})
	if err != nil {
		s.t.Error(err)
	}
}

// emptied deletes the VMs of one namespace one by one, and the other namespaces with their contents.
func (s *storm) emptied(limit time.Duration) {
	s.t.Helper()
	ctx := s.t.Context()
	for _, m := range s.fleet.machines {
		if m.exists && m.namespace == namespaceName(0) {
			m.busy.Store(true)
			s.submit(ctx, m, remove)
		}
		m.exists = false
	}
	all := s.host.CoreV1().Namespaces()
	for i := 1; i < namespaces; i++ {
		if err := all.Delete(ctx, namespaceName(i), metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.calm(ctx); err != nil {
		s.t.Fatal(err)
	}
	for i := 1; i < namespaces; i++ {
		name := namespaceName(i)
		if err := s.until(ctx, limit, "namespace "+name+" is deleted", func(ctx context.Context) error {
			n, err := all.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("it exists: %v", n.Status.Conditions)
		}); err != nil {
			s.t.Error(err)
		}
	}
	s.settled(limit, "after all were deleted")
}
