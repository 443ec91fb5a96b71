// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// Session is one authenticated connection to one vCenter. Its methods may be
// called concurrently. Nothing is sent before the first call that needs it.
type Session struct {
	opts  Options
	url   *url.URL
	soap  *soap.Client
	slots chan struct{}

	// connect is held while connecting or logging in: the single flight.
	connect sync.Mutex

	mu     sync.Mutex
	vim    *vim25.Client
	rest   *rest.Client
	restOK bool
	// epoch is replaced, and the old one closed, at every login: server-side
	// objects such as property collectors die with the session.
	epoch   chan struct{}
	lastOK  time.Time
	lastErr error
	refused refusal
}

// refusal is a login that vCenter refused.
type refusal struct {
	credentials [sha256.Size]byte
	at          time.Time
	err         error
}

// refusalPause is how long credentials that were refused are not sent again:
// vCenter locks an account after five refusals in three minutes.
const refusalPause = time.Minute

// New checks the options and returns a Session that is not connected yet.
func New(o Options) (*Session, error) {
	u, err := o.complete()
	if err != nil {
		return nil, err
	}
	cfg, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	sc := soap.NewClient(u, false)
	sc.UserAgent = o.UserAgent
	t := sc.DefaultTransport()
	// The library dials TLS without the context and verifies in its own way;
	// the standard library's handshake with our configuration replaces that.
	t.DialTLSContext = nil
	t.TLSClientConfig = cfg
	t.MaxIdleConnsPerHost = o.MaxCalls
	sc.Transport = statusTransport{t}
	return &Session{
		opts:  o,
		url:   u,
		soap:  sc,
		slots: make(chan struct{}, o.MaxCalls),
		epoch: make(chan struct{}),
	}, nil
}

// Vim returns the SOAP client, connecting and logging in first if needed.
func (s *Session) Vim(ctx context.Context) (*vim25.Client, error) {
	if c := s.current(); c != nil {
		return c, nil
	}
	s.connect.Lock()
	defer s.connect.Unlock()
	if c := s.current(); c != nil {
		return c, nil
	}
	raw := &transport{s: s, next: s.soap}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	c, err := vim25.NewClient(ctx, s.soap)
	if err != nil {
		return nil, s.note(fmt.Errorf("connecting to vCenter %s: %w", s.url.Host, err))
	}
	c.RoundTripper = raw
	if err := s.login(ctx, c); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vim = c
	return c, nil
}

// Epoch returns a channel that is closed at the next login. Whoever keeps
// objects that live in the server's session must make them again then.
func (s *Session) Epoch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

func (s *Session) current() *vim25.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vim
}

// note remembers the outcome of a call for Healthy and returns err.
func (s *Session) note(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
	if err == nil {
		s.lastOK = time.Now()
	}
	return err
}

// Close logs out, so that restarts do not use up vCenter's sessions.
func (s *Session) Close() {
	c := s.current()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.mu.Lock()
	rc, ok := s.rest, s.restOK
	s.mu.Unlock()
	if ok {
		_ = rc.Logout(ctx)
	}
	plain := &vim25.Client{Client: c.Client, ServiceContent: c.ServiceContent, RoundTripper: c.Client}
	_ = session.NewManager(plain).Logout(ctx)
	s.soap.CloseIdleConnections()
}
