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

// once lets all that ask for the same thing wait for one do. It goes on when ctx
// ends, for others may wait for it too, but no longer than Options.CallTimeout.
func (s *Session) once(ctx context.Context, key string, do func(context.Context) error) error {
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

// login connects and logs in over SOAP, unless somebody else did since the caller saw
// the epoch with that number.
func (s *Session) login(ctx context.Context, seen int) error {
	return s.once(ctx, "soap "+strconv.Itoa(seen), func(ctx context.Context) error {
		if s.loginNumber() != seen {
			return nil
		}
		return s.note(s.connect(ctx))
	})
}

// connect negotiates the version, which may be another one than at the last login,
// and logs in. The library keeps the cookie.
func (s *Session) connect(ctx context.Context) error {
	action, err := s.negotiate(ctx)
	if err != nil {
		return fmt.Errorf("asking vCenter %s for its API version: %w", s.url.Host, err)
	}
	ctx = s.soap.WithHeader(ctx, header(action))
	c, err := vim25.NewClient(ctx, s.soap)
	if err != nil {
		return fmt.Errorf("connecting to vCenter %s: %w", s.url.Host, err)
	}
	if err := s.isMeant(c); err != nil {
		return fmt.Errorf("connecting to vCenter %s: %w", s.url.Host, err)
	}
	c.RoundTripper = &transport{s: s, next: s.soap}
	user, err := s.authenticate(ctx, "Login", func(user *url.Userinfo) error {
		return session.NewManager(s.plain(c)).Login(ctx, user)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	// What ended this session, such as a restart, has ended that of REST most likely: the
	// next call would be sent in vain.
	s.vim, s.action, s.rest = c, action, nil
	s.info = infoOf(c, user)
	close(s.epoch)
	s.epoch = make(chan struct{})
	s.number++
	s.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Logged in to vCenter", "host", s.url.Host, "user", user, "soapAction", action)
	return nil
}

// plain is c without our transport, which would log in again.
func (s *Session) plain(c *vim25.Client) *vim25.Client {
	return &vim25.Client{Client: s.soap, ServiceContent: c.ServiceContent, RoundTripper: s.soap}
}

// loginREST logs in to the REST API, unless somebody else did since the caller saw the
// session with that number. Each gets a client of its own: calls that still run with
// the old one keep what they were sent with.
func (s *Session) loginREST(ctx context.Context, vim *vim25.Client, seen int) error {
	return s.once(ctx, "rest "+strconv.Itoa(seen), func(ctx context.Context) error {
		s.mu.Lock()
		number := s.restNumber
		s.mu.Unlock()
		if number != seen {
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
		s.restNumber++
		return nil
	})
}

// authenticate sends the credentials unless that could lock the account.
func (s *Session) authenticate(ctx context.Context, method string, send func(*url.Userinfo) error) (user string, err error) {
	user, password, err := s.opts.Credentials(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	attempt, err := s.refused.begin(user, password)
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
	s.refused.end(attempt, err)
	return user, err
}
