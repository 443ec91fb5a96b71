// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
)

const (
	// probeTimeout bounds the question to another member whether it is there.
	probeTimeout = time.Second
	// leaderPatience is how long a member that knows no leader is believed to elect one: an
	// election takes one to two seconds.
	leaderPatience = 3 * time.Second
)

// ErrNotReady means that a learner has not caught up yet.
var ErrNotReady = errors.New("the learner has not caught up")

// ID is that of this member, Cluster that of its cluster.
func (s *Server) ID() uint64 { return uint64(s.etcd.Server.MemberID()) }

// Cluster is the ID of the cluster.
func (s *Server) Cluster() uint64 { return uint64(s.etcd.Server.Cluster().ID()) }

// Leads tells whether this member is the leader.
func (s *Server) Leads() bool { return s.etcd.Server.Leader() == s.etcd.Server.MemberID() }

// Learns tells whether this member does not count for a quorum, and cannot be used yet.
func (s *Server) Learns() bool { return s.etcd.Server.IsLearner() }

// Members are those of the cluster as this one knows them, by name and ID.
func (s *Server) Members() []Member {
	var all []Member
	for _, m := range s.etcd.Server.Cluster().Members() {
		member := Member{ID: uint64(m.ID), Name: m.Name, Learner: m.IsLearner}
		if len(m.PeerURLs) > 0 {
			if u, err := url.Parse(m.PeerURLs[0]); err == nil {
				member.Address = u.Host
			}
		}
		all = append(all, member)
	}
	slices.SortFunc(all, func(a, b Member) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// AddLearner adds a member that may begin then.
func (s *Server) AddLearner(ctx context.Context, address string) (Member, error) {
	u := peerURL(address)
	now := time.Now()
	m := membership.NewMemberAsLearner("", types.URLs{u}, "", &now)
	if _, err := s.etcd.Server.AddMember(ctx, *m); err != nil {
		return Member{}, fmt.Errorf("adding the member at %s as a learner: %w", address, err)
	}
	return Member{ID: uint64(m.ID), Address: address, Learner: true}, nil
}

// Promote makes a learner a full member, or returns ErrNotReady.
func (s *Server) Promote(ctx context.Context, id uint64) error {
	_, err := s.etcd.Server.PromoteMember(ctx, id)
	switch {
	case errors.Is(err, etcderrors.ErrLearnerNotReady), errors.Is(err, etcderrors.ErrNotEnoughStartedMembers):
		return ErrNotReady
	case err != nil:
		return fmt.Errorf("promoting the member %x: %w", id, err)
	}
	return nil
}

// Remove takes a member out of the cluster for ever, unless that would cost the quorum.
func (s *Server) Remove(ctx context.Context, id uint64) error {
	if _, err := s.etcd.Server.RemoveMember(ctx, id); err != nil && !errors.Is(err, membership.ErrIDRemoved) {
		return fmt.Errorf("removing the member %x: %w", id, err)
	}
	return nil
}

// Move says to all where this member is.
func (s *Server) Move(ctx context.Context, address string) error {
	u := peerURL(address)
	m := membership.Member{ID: s.etcd.Server.MemberID(), RaftAttributes: membership.RaftAttributes{PeerURLs: []string{u.String()}}}
	if _, err := s.etcd.Server.UpdateMember(ctx, m); err != nil {
		return fmt.Errorf("saying that the member is at %s: %w", address, err)
	}
	return nil
}

// Yield lets another member lead, if this one does.
func (s *Server) Yield(ctx context.Context, to uint64) error {
	if err := s.etcd.Server.MoveLeader(ctx, s.etcd.Server.Lead(), to); err != nil {
		return fmt.Errorf("letting the member %x lead: %w", to, err)
	}
	return nil
}

// Forget removes what is kept of the data of before this member has joined again.
func (s *Server) Forget() error {
	if err := os.RemoveAll(filepath.Join(s.dir, asideDir)); err != nil {
		return fmt.Errorf("removing the data of before: %w", err)
	}
	return nil
}

// quorum is what is known of the other members.
type quorum struct {
	mu sync.Mutex
	// lost is since when no leader is known, zero while one is.
	lost time.Time
	// missing names the members that did not answer at asked.
	missing []string
	asked   time.Time
}

// Quorum returns an error that names the members that are missing when there is no leader
// for longer than an election takes: nothing can be read or written then.
func (s *Server) Quorum() error {
	if s.peer == nil {
		return nil
	}
	s.quorum.mu.Lock()
	defer s.quorum.mu.Unlock()
	now := time.Now()
	if s.etcd.Server.Leader() != 0 {
		s.quorum.lost = time.Time{}
		return nil
	}
	if s.quorum.lost.IsZero() {
		s.quorum.lost = now
	}
	if now.Sub(s.quorum.lost) < leaderPatience {
		return nil
	}
	if now.Sub(s.quorum.asked) > leaderPatience {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()
		s.quorum.missing, s.quorum.asked = s.missing(ctx), now
	}
	return quorumError(s.quorum.missing)
}

func quorumError(missing []string) error {
	if len(missing) == 0 {
		return errors.New("the embedded etcd has no leader, and all of its members answer")
	}
	return fmt.Errorf("the embedded etcd has no quorum: no answer from %s", strings.Join(missing, ", "))
}

func (s *Server) others() []Member {
	return slices.DeleteFunc(s.Members(), func(m Member) bool { return m.ID == s.ID() })
}

// missing names the other members that do not answer.
func (s *Server) missing(ctx context.Context) []string { return s.peer.Missing(ctx, s.others()) }

// Silent are the IDs of the other members that do not answer.
func (s *Server) Silent(ctx context.Context) map[uint64]bool {
	silent, others := map[uint64]bool{}, s.others()
	for i, err := range s.peer.ask(ctx, others) {
		if err != nil {
			silent[others[i].ID] = true
		}
	}
	return silent
}

// Answering are those of the members that answer.
func (p *Peer) Answering(ctx context.Context, members []Member) []Member {
	var all []Member
	for i, err := range p.ask(ctx, members) {
		if err == nil {
			all = append(all, members[i])
		}
	}
	return all
}

// Missing names those of the members that do not answer.
func (p *Peer) Missing(ctx context.Context, members []Member) []string {
	var missing []string
	for i, err := range p.ask(ctx, members) {
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s at %s (%v)", members[i].Name, members[i].Address, err))
		}
	}
	return missing
}

// ask returns for each of the members why it does not answer, nil if it does.
func (p *Peer) ask(ctx context.Context, members []Member) []error {
	failed := make([]error, len(members))
	tripper, err := transport.NewTransport(p.tls(), probeTimeout)
	if err != nil {
		for i := range failed {
			failed[i] = err
		}
		return failed
	}
	defer tripper.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for i, m := range members {
		asking.Go(func() { failed[i] = answers(ctx, tripper, m.Address) })
	}
	asking.Wait()
	return failed
}

func answers(ctx context.Context, tripper http.RoundTripper, address string) error {
	u := peerURL(address)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	resp, err := tripper.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
