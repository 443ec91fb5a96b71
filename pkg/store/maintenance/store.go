// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// commitInterval is how often etcd commits by itself. The size changes only then.
	commitInterval = 100 * time.Millisecond
	// scarceInterval is how long a measurement is valid while space is scarce.
	scarceInterval = 10 * time.Millisecond
	// measureTimeout is the time limit for an answer of a member.
	measureTimeout = time.Second
)

// member is one etcd member, and a client that is connected to it only.
type member struct {
	endpoint string
	client   *clientv3.Client
	// unreachable is the error of a member that does not answer, or nil.
	unreachable atomic.Pointer[error]
}

// checkReachable returns an error if the member did not answer.
func (m *member) checkReachable() error {
	if err := m.unreachable.Load(); err != nil {
		return *err
	}
	return nil
}

// Store is an etcd store: the embedded member or an etcd cluster.
type Store struct {
	members []*member
	// local is nil for an etcd cluster.
	local *Local
	// saving is held while a snapshot is read, and for writing during a defragmentation.
	saving sync.RWMutex
	// defragmented is the revision at which a full member was defragmented last.
	defragmented int64

	mu         sync.Mutex
	space      Space
	err        error
	measuredAt time.Time
}

// Local gives access to the embedded member of this process in addition to the client API.
type Local struct {
	// Dir is a directory in the member's file system.
	Dir string
	// Defragment rewrites the member's file. Requests wait until it returns.
	Defragment func() error
}

// New returns the store of an embedded member.
func New(client *clientv3.Client, local Local) *Store {
	return &Store{members: []*member{{endpoint: "embedded", client: client}}, local: &local}
}

// Connect returns the store of an etcd cluster. It does not wait until a member answers.
func Connect(config clientv3.Config) (*Store, error) {
	s := &Store{}
	for _, endpoint := range config.Endpoints {
		config.Endpoints = []string{endpoint}
		client, err := clientv3.New(config)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("connecting to etcd at %s: %w", endpoint, err)
		}
		// The client's own Status makes a connection for each call, and repeats calls until their timeout.
		client.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(pb.NewMaintenanceClient(client.ActiveConnection()), client)
		s.members = append(s.members, &member{endpoint: endpoint, client: client})
	}
	return s, nil
}

// Close closes the connections. That of an embedded member is the caller's.
func (s *Store) Close() {
	if s.local != nil {
		return
	}
	for _, m := range s.members {
		_ = m.client.Close() // returns only that its context is done
	}
}

// External reports whether the store is an etcd cluster.
func (s *Store) External() bool { return s.local == nil }

// Space returns the space, measured recently.
func (s *Store) Space() (Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	valid := commitInterval
	if s.space.nearQuota() {
		valid = scarceInterval
	}
	if time.Since(s.measuredAt) >= valid {
		s.measure()
	}
	return s.space, s.err
}

// remeasure measures the space and returns it.
func (s *Store) remeasure() (Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measure()
	return s.space, s.err
}

// measure measures the space. If no member answers, the last space is kept.
func (s *Store) measure() {
	defer func() { s.measuredAt = time.Now() }()
	space, err := s.leastSpace()
	if err == nil && space.nearQuota() {
		// A fast client fills the reserve with writes that are not committed and have no size yet.
		_ = s.each(func(ctx context.Context, m *member) error {
			m.commit(ctx)
			return nil
		})
		space, err = s.leastSpace()
	}
	if s.err = err; err != nil {
		return
	}
	s.space = space
	observe(space)
}

// each calls f concurrently for all members that answer.
func (s *Store) each(f func(ctx context.Context, m *member) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), measureTimeout)
	defer cancel()
	errs := make([]error, len(s.members))
	var running sync.WaitGroup
	for i, m := range s.members {
		running.Go(func() {
			if errs[i] = m.checkReachable(); errs[i] == nil {
				errs[i] = f(ctx, m)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// retryUnreachable checks whether unreachable members answer again.
func (s *Store) retryUnreachable() {
	for _, m := range s.members {
		if m.checkReachable() == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), measureTimeout)
		if _, err := m.client.Status(ctx, m.endpoint); err == nil {
			m.unreachable.Store(nil)
		}
		cancel()
	}
}

// leastSpace returns the space of the member with the least free space. A member that does not answer is ignored until
// retryUnreachable, because each request would wait for it. If no member answers, all are measured again the next time: writes wait
// for them as well.
func (s *Store) leastSpace() (Space, error) {
	var mu sync.Mutex
	var least *Space
	stopped := false
	err := s.each(func(ctx context.Context, m *member) error {
		space, err := m.space(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", m.endpoint, err)
			m.unreachable.Store(&err)
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		stopped = stopped || space.Stopped
		if least == nil || space.used() > least.used() {
			least = &space
		}
		return nil
	})
	if least == nil {
		for _, m := range s.members {
			m.unreachable.Store(nil)
		}
		return Space{}, fmt.Errorf("reading the size of etcd: %w", err)
	}
	least.Stopped, least.DiskFree = stopped, unknown
	if s.local != nil {
		if _, least.DiskFree, err = Disk(s.local.Dir); err != nil {
			return Space{}, err
		}
	}
	return *least, nil
}

func (m *member) space(ctx context.Context) (Space, error) {
	status, err := m.client.Status(ctx, m.endpoint)
	if err != nil {
		return Space{}, err
	}
	space := Space{Size: status.DbSize, InUse: status.DbSizeInUse, Quota: QuotaOf(status.DbSizeQuota)}
	if len(status.Errors) == 0 {
		return space, nil
	}
	alarms, err := m.alarms(ctx)
	if err != nil {
		return Space{}, err
	}
	space.Stopped = len(alarms) > 0
	return space, nil
}

// commit makes the member commit, which it does before it sends the first part of a snapshot. If it
// fails, the measurement is older by a commit.
func (m *member) commit(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if snapshot, err := m.client.SnapshotWithVersion(ctx); err == nil {
		_ = snapshot.Snapshot.Close()
	}
}

// alarms returns the alarms that keep all members from accepting writes, whichever member raised them.
func (m *member) alarms(ctx context.Context) ([]*clientv3.AlarmMember, error) {
	answer, err := m.client.AlarmList(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing alarms: %w", err)
	}
	var all []*clientv3.AlarmMember
	for _, a := range answer.Alarms {
		if a.GetAlarm() == pb.AlarmType_NOSPACE {
			all = append(all, (*clientv3.AlarmMember)(a))
		}
	}
	return all, nil
}

// Room returns an error if the remaining space is reserved for updates and deletions.
func (s *Store) Room() error { return s.room(reserved) }

// RoomForUpdates returns an error if the remaining space is reserved for deletions and for writes of the server.
func (s *Store) RoomForUpdates() error { return s.room(full) }

// RoomForServer returns an error if the remaining space is reserved for deletions.
func (s *Store) RoomForServer() error { return s.room(deletionsOnly) }

// room returns an error if the level is refused or higher. While the store cannot be measured, the last known level applies. A
// store that was never measured is not refused.
func (s *Store) room(refused level) error {
	if space, _ := s.Space(); space.Quota > 0 && space.level() >= refused {
		return space.Err()
	}
	return nil
}
