// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/peertls"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

const (
	// lookInterval is how often a replica that waits looks at the record, and sayInterval how
	// often the log says why it waits.
	lookInterval = time.Second
	sayInterval  = 10 * time.Second
	// hostTimeout bounds each request to the host cluster.
	hostTimeout = 5 * time.Second
	// certificates are in this directory of the data directory.
	certificates = "peer"
)

// Options say which member of which cluster it is. All are required but Alone and Waits.
type Options struct {
	// Etcd is as for a lone member.
	Etcd embedded.Options
	// Name of this replica, and where the others reach its member and where that listens,
	// host and port each.
	Name, Address, Listen string
	// Host and Namespace say where record and authority are.
	Host      kubernetes.Interface
	Namespace string
	// Wanted returns what says of a replica whether it shall be a member.
	Wanted func(context.Context) (func(name string) bool, error)
	// Alone tells whether this is to be the only replica, as of now.
	Alone func(context.Context) (bool, error)
	// Waits is told why the start waits, and nothing when it goes on. The log is told, too.
	Waits func(reason string)
}

// Member is that of this replica.
type Member struct {
	*embedded.Server
	options *Options
	records records
	// stop ends what runs beside the member.
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start runs the member of this replica, and waits until it is a full one that has a quorum
// or ctx is done, which bounds the start only. Close ends it.
func Start(ctx context.Context, o Options) (*Member, error) {
	m := &Member{options: &o, records: records{o.Host, o.Namespace}}
	files, err := m.identify(ctx)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	m.running.Go(func() { files.Run(running, o.Host, o.Namespace) })
	s := &starter{Member: m}
	o.Etcd.Peer = &embedded.Peer{Name: o.Name, Address: o.Address, Listen: o.Listen, CertFile: files.Cert, CAFile: files.CA, Plan: s.plan}
	s.peer = o.Etcd.Peer
	if s.peer.Alone, err = s.alone(ctx); err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		stop()
		m.running.Wait()
		return nil, err
	}
	m.running.Go(func() { m.run(running) })
	return m, nil
}

// identify gives this replica a certificate, as soon as the host cluster answers.
func (m *Member) identify(ctx context.Context) (*peertls.Files, error) {
	host, _, err := net.SplitHostPort(m.options.Address)
	if err != nil {
		return nil, fmt.Errorf("the address of this member of etcd: %w", err)
	}
	var authority *peertls.Authority
	err = m.await(ctx, func(ctx context.Context) (string, error) {
		authority, err = peertls.Load(ctx, m.options.Host, m.options.Namespace)
		return "", err
	})
	if err != nil {
		return nil, err
	}
	return authority.Write(filepath.Join(m.options.Etcd.Dir, certificates), m.options.Name, host)
}

// await calls f until it returns no reason to wait, and no error, or one that is final.
func (m *Member) await(ctx context.Context, f func(context.Context) (reason string, err error)) error {
	var said string
	var saidAt time.Time
	for {
		bounded, cancel := context.WithTimeout(ctx, hostTimeout)
		reason, err := f(bounded)
		cancel()
		var last *finalError
		switch {
		case errors.As(err, &last):
			return last.error
		case ctx.Err() != nil:
			return fmt.Errorf("waiting to start etcd's member: %w", ctx.Err())
		case err != nil:
			reason = err.Error()
		}
		if m.options.Waits != nil {
			m.options.Waits(reason)
		}
		if reason == "" {
			return nil
		}
		if reason != said || time.Since(saidAt) >= sayInterval {
			said, saidAt = reason, time.Now()
			klog.FromContext(ctx).Info("This member of the embedded etcd waits", "reason", reason)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookInterval):
		}
	}
}

// finalError ends a start.
type finalError struct{ error }

// starter starts a member.
type starter struct {
	*Member
	peer *embedded.Peer
	// chosen is what was planned last, of local.
	chosen move
	local  embedded.Local
	// lostSince is when the record said first that the cluster is lost, zero while it does not or
	// a member answers.
	lostSince time.Time
}

// alone tells whether this is to be the only replica, as soon as the host cluster answers.
func (m *Member) alone(ctx context.Context) (alone bool, err error) {
	if m.options.Alone == nil {
		return false, nil
	}
	err = m.await(ctx, func(ctx context.Context) (_ string, err error) {
		alone, err = m.options.Alone(ctx)
		return "", err
	})
	return alone, err
}

func (s *starter) start(ctx context.Context) error {
	for {
		err := s.once(ctx)
		if err == nil {
			return nil
		}
		// One that was removed asks to join. What a joining one was told can be old.
		if ctx.Err() != nil || !errors.Is(err, embedded.ErrStopped) && s.chosen != join {
			return err
		}
		klog.FromContext(ctx).Error(err, "Starting this member of the embedded etcd failed and will be repeated", "after", lookInterval)
		select {
		case <-ctx.Done():
		case <-time.After(lookInterval):
		}
	}
}

func (s *starter) once(ctx context.Context) (err error) {
	if s.Server, err = embedded.Start(ctx, s.options.Etcd); err != nil {
		return err
	}
	err = s.settle(ctx)
	if err != nil {
		s.Server.Close()
	}
	return err
}

// settle makes the record true, and waits until the member is a full one.
func (s *starter) settle(ctx context.Context) error {
	err := s.await(ctx, func(ctx context.Context) (string, error) {
		return "", s.founded(ctx)
	})
	if err != nil {
		return err
	}
	if err := s.recovered(); err != nil {
		return err
	}
	err = s.await(ctx, func(ctx context.Context) (string, error) {
		select {
		case err := <-s.Failed():
			return "", &finalError{err}
		default:
		}
		if s.Learns() {
			return "it learns, until it has caught up and the leader makes it a full member", nil
		}
		return "", s.move(ctx)
	})
	if err != nil {
		return err
	}
	return s.Forget()
}

// move says where this member is, if the cluster knows another address.
func (m *Member) move(ctx context.Context) error {
	for _, known := range m.Members() {
		if known.ID == m.ID() && known.Address != m.options.Address {
			return m.Move(ctx, m.options.Address)
		}
	}
	return nil
}

// founded writes the ID of the cluster into the record, if it is not there, before anything
// is written to the cluster.
func (s *starter) founded(ctx context.Context) error {
	var other string
	err := s.records.change(ctx, func(r *record) *record {
		switch {
		case r == nil:
			r = &record{founder: directory{s.options.Name, s.local.Directory}}
		case r.cluster == s.Cluster():
			return nil
		case r.cluster != 0 || r.founder.name != s.options.Name:
			other = r.founder.name
			return nil
		}
		r.cluster, r.members = s.Cluster(), s.Members()
		return r
	})
	if err == nil && other != "" {
		return &finalError{fmt.Errorf("the member of the embedded etcd in %s is of the cluster %s, and %s has founded another one", s.options.Etcd.Dir, hex(s.Cluster()), other)}
	}
	return err
}

// plan implements embedded.Peer.Plan.
func (s *starter) plan(ctx context.Context, local embedded.Local) (plan embedded.Plan, err error) {
	s.local = local
	if plan.Alone, err = s.recovers(ctx); err != nil || plan.Alone {
		s.chosen = goOn
		return plan, err
	}
	err = s.await(ctx, func(ctx context.Context) (string, error) {
		now := &state{name: s.options.Name, address: s.options.Address, namespace: s.options.Namespace, local: local}
		if now.record, err = s.records.read(ctx); err != nil {
			return "", err
		}
		if now.record != nil && now.record.cluster != 0 && local.Member == 0 {
			now.answering = s.peer.Answering(ctx, now.record.members)
			now.lostFor = s.lostFor(now.record, len(now.answering) > 0)
		}
		if now.storeKnown, err = identity.Known(ctx, s.options.Host, s.options.Namespace); err != nil {
			return "", err
		}
		var reason string
		s.chosen, reason = begin(now)
		switch s.chosen {
		case goOn:
			return "", s.ask(ctx, false)
		case found:
			plan.Token, err = s.claim(ctx)
			return "", err
		case askToJoin:
			return reason, s.ask(ctx, true)
		case join:
			plan.Join = now.record.members
			return "", nil
		case refuse:
			return "", &finalError{errors.New("starting the embedded etcd in " + s.options.Etcd.Dir + ": " + reason)}
		case wait:
		}
		return reason, nil
	})
	return plan, err
}

// lostFor is for how long this replica has seen that the cluster is said to be lost, and that no
// member answers: one that has answered may be starting anew.
func (s *starter) lostFor(r *record, answered bool) time.Duration {
	switch {
	case !r.isLost() || answered:
		s.lostSince = time.Time{}
		return 0
	case s.lostSince.IsZero():
		s.lostSince = time.Now()
	}
	return time.Since(s.lostSince)
}

// claim makes this replica the one that founds the cluster, and returns what its ID is
// made of.
func (s *starter) claim(ctx context.Context) (token string, err error) {
	me := directory{s.options.Name, s.local.Directory}
	err = s.records.change(ctx, func(r *record) *record {
		switch {
		case r == nil:
			r = &record{founder: me, token: uuid.NewString()}
		case r.isLost():
			klog.FromContext(ctx).Info("Founding the cluster of the embedded etcd anew: the one of before is said to be lost", "cluster", hex(r.cluster))
			r = &record{founder: me, token: uuid.NewString()}
		case r.cluster != 0 || r.founder.name != me.name:
			token = ""
			return nil
		case r.founder == me && r.token != "":
			token = r.token
			return nil
		default: // it had another volume, which nobody has written to
			r.founder, r.token = me, uuid.NewString()
		}
		token = r.token
		return r
	})
	if err == nil && token == "" {
		err = errors.New("another replica founds the cluster")
	}
	return token, err
}

// ask writes into the record that this replica would join, or that it would not.
func (s *starter) ask(ctx context.Context, would bool) error {
	mine := ask{s.local.Directory, s.options.Address}
	return s.records.change(ctx, func(r *record) *record {
		if r == nil {
			return nil
		}
		written, asks := r.asks[s.options.Name]
		if would && written == mine || !would && !asks { // what it asked for with another volume counts, too
			return nil
		}
		if delete(r.asks, s.options.Name); would {
			r.asks[s.options.Name] = mine
		}
		return r
	})
}
