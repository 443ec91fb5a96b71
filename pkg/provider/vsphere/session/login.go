// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"k8s.io/klog/v2"
)

// shareLogin runs do for all concurrent callers with the same key. do continues when ctx ends, because
// other callers may wait for it. Options.CallTimeout limits it.
func (s *Session) shareLogin(ctx context.Context, key string, do func(context.Context) error) error {
	flight := s.logins.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CallTimeout)
		defer cancel()
		return nil, do(ctx)
	})
	select {
	case r := <-flight:
		return r.Err
	case <-ctx.Done():
		return fmt.Errorf("waiting for a login to vCenter %s: %w", s.url.Host, ctx.Err())
	}
}

// login connects and logs in over SOAP. It does nothing if another caller has logged in since the
// caller read the login number seenLogin.
func (s *Session) login(ctx context.Context, seenLogin int) error {
	return s.shareLogin(ctx, "soap "+strconv.Itoa(seenLogin), func(ctx context.Context) error {
		if s.loginNumber() != seenLogin {
			return nil
		}
		return s.recordOutcome(s.connect(ctx))
	})
}

// connect negotiates the API version, which may differ from that of the last login, and logs in.
// govmomi stores the session cookie.
func (s *Session) connect(ctx context.Context) error {
	action, err := s.negotiateVersion(ctx)
	if err != nil {
		return fmt.Errorf("reading the API version of vCenter %s: %w", s.url.Host, err)
	}
	ctx = s.soap.WithHeader(ctx, soapHeader(action))
	c, err := vim25.NewClient(ctx, s.soap)
	if err != nil {
		return fmt.Errorf("connecting to vCenter %s: %w", s.url.Host, err)
	}
	if err := s.checkInstallation(c); err != nil {
		return fmt.Errorf("connecting to vCenter %s: %w", s.url.Host, err)
	}
	c.RoundTripper = &transport{s: s, next: s.soap}
	user, err := s.authenticate(ctx, "Login", func(user *url.Userinfo) error {
		return session.NewManager(s.plainClient(c)).Login(ctx, user)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	// The event that ended the SOAP session, such as a restart, has probably ended the REST session too.
	s.vim, s.action, s.rest = c, action, nil
	s.info = infoOf(c, user)
	close(s.epoch)
	s.epoch = make(chan struct{})
	s.loginCount++
	s.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Logged in to vCenter", "host", s.url.Host, "user", user, "soapAction", action)
	return nil
}

// plainClient returns a copy of c without the session's transport, which would log in again.
func (s *Session) plainClient(c *vim25.Client) *vim25.Client {
	return &vim25.Client{Client: s.soap, ServiceContent: c.ServiceContent, RoundTripper: s.soap}
}

// loginREST logs in to the REST API. It does nothing if another caller has logged in since the
// caller read the login number seenLogin. Each login creates a new client, so that running calls keep
// theirs.
func (s *Session) loginREST(ctx context.Context, vim *vim25.Client, seenLogin int) error {
	return s.shareLogin(ctx, "rest "+strconv.Itoa(seenLogin), func(ctx context.Context) error {
		s.mu.Lock()
		number := s.restLoginCount
		s.mu.Unlock()
		if number != seenLogin {
			return nil
		}
		c := rest.NewClient(vim)
		c.Transport = statusTransport{s.soap.DefaultTransport()}
		if _, err := s.authenticate(ctx, "rest.Login", func(user *url.Userinfo) error { return c.Login(ctx, user) }); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rest = c
		s.restLoginCount++
		return nil
	})
}

// authenticate sends the credentials unless that could lock the account.
func (s *Session) authenticate(ctx context.Context, method string, send func(*url.Userinfo) error) (user string, err error) {
	user, password, err := s.opts.Credentials(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	attempt, err := s.limiter.begin(user, password)
	if err != nil {
		return user, err
	}
	if s.opts.OnCall != nil {
		s.opts.OnCall(method)
	}
	err = send(url.UserPassword(user, password))
	if err != nil {
		err = fmt.Errorf("logging in to vCenter %s as %q (%s): %w", s.url.Host, user, method, err)
	}
	s.limiter.end(attempt, err)
	return user, err
}
