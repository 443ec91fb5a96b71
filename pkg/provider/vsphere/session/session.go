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

// Session is one authenticated connection to one vCenter. Its methods are safe for concurrent use.
// It connects when the first call needs it.
type Session struct {
	opts  Options
	url   *url.URL
	soap  *soap.Client
	slots chan struct{}

	// logins contains the logins in progress, at most one per API.
	logins singleflight.Group
	// limiter limits refused logins, counted over both APIs.
	limiter loginLimiter

	mu sync.Mutex
	// vim is nil before the first login. action is the SOAPAction of its calls.
	vim    *vim25.Client
	action string
	// info describes the last login.
	info Info
	// epoch is closed and replaced at every login, because server-side objects such as property
	// collectors end with the session. number counts the logins.
	epoch      chan struct{}
	loginCount int
	// rest is nil while no REST session exists. restLoginCount counts the REST logins.
	rest           *rest.Client
	restLoginCount int
	// policyContent is the content of the storage policy service, read at login number policyLogin.
	policyContent *pbmtypes.PbmServiceInstanceContent
	policyLogin   int
	// volumesAPIVersion is the version of the volume service, read at login number volumesLogin.
	volumesAPIVersion string
	volumesLogin      int
	lastOK            time.Time
	lastErr           error
	// skew is how far vCenter's clock was ahead at the last measurement.
	skew *time.Duration
}

// closeTimeout limits the logout of both APIs, which run concurrently.
const closeTimeout = 5 * time.Second

// New validates the options and returns a Session that is not connected yet.
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
	// govmomi's own TLS dialer ignores the context and does its own verification. Without it, net/http
	// does the handshake with cfg.
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

// Vim returns the SOAP client. It connects and logs in first if needed.
func (s *Session) Vim(ctx context.Context) (*vim25.Client, error) {
	if c := s.vimClient(); c != nil {
		return c, nil
	}
	if err := s.login(ctx, 0); err != nil {
		return nil, err
	}
	return s.vimClient(), nil
}

// Epoch returns a channel that is closed at the next login. Objects that belong to the server's
// session must be recreated after that.
func (s *Session) Epoch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// loginNumber returns the number of SOAP logins so far.
func (s *Session) loginNumber() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loginCount
}

func (s *Session) vimClient() *vim25.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vim
}

// recordOutcome records the outcome of a call for Healthy and returns err.
func (s *Session) recordOutcome(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastErr = err
	if err == nil {
		s.lastOK = time.Now()
	}
	return err
}

// Close logs out, so that restarts do not exhaust vCenter's session limit.
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
	both.Go(func() { _ = session.NewManager(s.plainClient(c)).Logout(s.withAction(ctx)) })
	both.Wait()
	s.soap.CloseIdleConnections()
}
