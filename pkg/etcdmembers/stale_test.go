// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// aside moves the directory of a replica to another place, from which back brings it again.
func (r *replicas) aside(name string) (back func()) {
	r.Helper()
	place, kept := filepath.Join(r.dir, name), filepath.Join(r.dir, name+"-kept")
	if err := os.Rename(place, kept); err != nil {
		r.Fatal(err)
	}
	return func() {
		r.Helper()
		r.lose(name)
		if err := os.Rename(kept, place); err != nil {
			r.Fatal(err)
		}
	}
}

// The wrong volume was mounted, and then the right one: what the replica has asked for with the
// first must not make the leader replace it, or keep others out.
func TestAReplicaWhoseRightVolumeIsBackDoesNotAskToJoinAnyMore(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 1)
	r.start("r-0")
	r.put("r-0", "/kept", "v")
	r.stop("r-0")
	back := r.aside("r-0")
	wrong := r.begin("r-0")
	r.until("the replica asks to join", func() error {
		if r.record().asks["r-0"].directory == "" {
			return errors.New("it does not")
		}
		return nil
	})
	wrong.cancel()
	wrong.ended.Wait()

	back()
	r.start("r-0")
	if asks := r.record().asks; len(asks) > 0 {
		t.Fatalf("the asks of the wrong volume are left: %v", asks)
	}
	r.size.Store(2)
	r.start("r-1")
	r.members("r-0", "r-0", "r-1")
	r.has(map[string]string{"/kept": "v"})
}

// The old volume of a replica that was replaced is back: its member does not count any more.
func TestARecoveryByAMemberThatWasRemovedIsRefusedWhileTheOthersHaveAQuorum(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	r.start("r-0", "r-1", "r-2")
	r.members("r-0", "r-0", "r-1", "r-2")
	r.stop("r-2")
	back := r.aside("r-2")
	r.start("r-2") // a new one in its place
	r.members("r-0", "r-0", "r-1", "r-2")
	r.stop("r-2")
	back()
	if err := Recover(filepath.Join(r.dir, "r-2"), hex(r.record().cluster)); err != nil {
		t.Fatal(err)
	}
	m, err := Start(t.Context(), r.options("r-2"))
	if err == nil {
		m.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "they have a quorum") {
		t.Errorf("Start = %v, want that the others have a quorum", err)
	}
}

// An administrator has said that all is lost, then found one that has the data, and orders it to
// recover. While that one starts anew nobody answers.
func TestWhatIsRecoveredIsNotFoundedAnew(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 2)
	r.start("r-0", "r-1")
	r.members("r-0", "r-0", "r-1")
	cluster := hex(r.record().cluster)
	r.stop("r-0", "r-1")
	r.lose("r-1")
	r.say(cluster)
	if err := Recover(filepath.Join(r.dir, "r-0"), cluster); err != nil {
		t.Fatal(err)
	}
	m := &Member{records: records{r.host, namespace}}
	o := r.options("r-0")
	m.options = &o
	local, err := embedded.LocalOf(o.Etcd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	local.Votes = true
	s := &starter{Member: m, peer: &embedded.Peer{}, local: local}
	if ordered, err := s.recovers(t.Context()); !ordered || err != nil {
		t.Fatalf("the recovery is ordered: %t, %v", ordered, err)
	}
	if said := r.said(); said != "" {
		t.Errorf("the cluster %s is recovered, and still said to be lost: %s", cluster, said)
	}
}

func TestAMemberThatAnswersHasTimeToStartAnew(t *testing.T) {
	s := &starter{}
	lost := &record{cluster: 7, lost: "7"}
	if s.lostFor(lost, false); s.lostSince.IsZero() {
		t.Fatal("the time does not begin when the cluster is said to be lost")
	}
	s.lostSince = time.Now().Add(-time.Minute)
	if got := s.lostFor(lost, false); got < time.Minute {
		t.Errorf("after a minute it is lost for %s", got)
	}
	if got := s.lostFor(lost, true); got != 0 {
		t.Errorf("while a member answers it is lost for %s", got)
	}
	if got := s.lostFor(lost, false); got > time.Second {
		t.Errorf("as soon as that does not any more it is lost for %s", got)
	}
}

// It would be a cluster without any full member, in which etcd ends for ever.
func TestARecoveryByAMemberThatStillLearnsIsRefused(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 2)
	r.start("r-0")
	leader := r.all["r-0"]
	leader.stop() // nobody makes who joins a full member
	leader.running.Wait()
	learner := r.begin("r-1")
	r.until("the replica asks to join", func() error {
		if r.record().asks["r-1"].directory == "" {
			return errors.New("it does not")
		}
		return nil
	})
	asked := r.record().asks["r-1"]
	added, err := leader.AddLearner(t.Context(), asked.address)
	if err == nil {
		err = leader.tell(t.Context(), action{name: "r-1", directory: asked.directory}, added)
	}
	if err != nil {
		t.Fatal(err)
	}
	learner.wait([]string{"r-1"}, "it learns")
	learner.cancel()
	learner.ended.Wait()
	r.stop("r-0")
	if err := Recover(filepath.Join(r.dir, "r-1"), hex(r.record().cluster)); err != nil {
		t.Fatal(err)
	}
	m, err := Start(t.Context(), r.options("r-1"))
	if err == nil {
		m.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "it still learns") {
		t.Errorf("Start = %v, want that it is refused", err)
	}
}
