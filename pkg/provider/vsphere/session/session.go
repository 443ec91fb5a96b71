// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"net/url"
	"sync"
	"time"

	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"golang.org/x/sync/singleflight"
)

// Session is one authenticated connection to one vCenter. Its methods may be
// called concurrently. Nothing is sent before the first call that needs it.
type Session struct {
	opts  Options
	url   *url.URL
	soap  *soap.Client
	slots chan struct{}

	// logins are under way, at most one for each API: neither waits for the other.
	logins singleflight.Group
	// refused are the logins of both that vCenter refused.
	refused refusals

	mu sync.Mutex
	// vim is nil before the first login, action the SOAPAction of its calls.
	vim    *vim25.Client
	action string
	// info is of the last login.
	info Info
	// epoch is replaced, and the old one closed, at every login: server-side
	// objects such as property collectors die with the session. number counts them.
	epoch  chan struct{}
	number int
	// rest is nil while there is no session with the REST API; restNumber counts them.
	rest       *rest.Client
	restNumber int
	// policies is what the storage policy service has, for the login of policiesOf.
	policies   *pbmtypes.PbmServiceInstanceContent
	policiesOf int
	// volumes is the version of the volume service that the login of volumesOf found.
	volumes   string
	volumesOf int
	lastOK    time.Time
	lastErr   error
	// skew is how far the clock of vCenter was ahead when that was measured last.
	skew *time.Duration
}

// closeTimeout bounds the logout of both APIs, which run at the same time.
const closeTimeout = 5 * time.Second

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
	if err := s.login(ctx, 0); err != nil {
		return nil, err
	}
	return s.current(), nil
}

// Epoch returns a channel that is closed at the next login. Whoever keeps
// objects that live in the server's session must make them again then.
func (s *Session) Epoch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// loginNumber counts the logins over SOAP.
func (s *Session) loginNumber() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number
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
	s.mu.Lock()
	c, rc := s.vim, s.rest
	s.mu.Unlock()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var both sync.WaitGroup
	if rc != nil {
		both.Go(func() { _ = rc.Logout(ctx) })
	}
	both.Go(func() { _ = session.NewManager(s.plain(c)).Logout(s.withAction(ctx)) })
	both.Wait()
	s.soap.CloseIdleConnections()
}
