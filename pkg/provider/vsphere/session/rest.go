// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vapi/rest"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// WithREST calls do with a client of vCenter's REST API that is logged in. When
// the REST session turns out to be gone, it logs in and calls do once more;
// a call that was refused for that reason has changed nothing.
func (s *Session) WithREST(ctx context.Context, method string, do func(*rest.Client) error) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for try := 0; ; try++ {
		c, err := s.restClient(ctx)
		if err != nil {
			return err
		}
		if s.opts.OnCall != nil {
			s.opts.OnCall(method)
		}
		if err = do(c); err == nil || try > 0 || !vimfault.HasStatus(err, http.StatusUnauthorized) {
			return err
		}
		s.mu.Lock()
		s.restOK = false
		s.mu.Unlock()
	}
}

// LoginREST logs in to vCenter's REST API, so that the first call does not have to.
func (s *Session) LoginREST(ctx context.Context) error {
	_, err := s.restClient(ctx)
	return err
}

// restClient returns the REST client, logged in.
func (s *Session) restClient(ctx context.Context) (*rest.Client, error) {
	vim, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	s.connect.Lock()
	defer s.connect.Unlock()
	s.mu.Lock()
	c, ok := s.rest, s.restOK
	s.mu.Unlock()
	if ok {
		return c, nil
	}
	user, password, err := s.opts.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading vCenter credentials: %w", err)
	}
	if c == nil {
		c = rest.NewClient(vim)
		c.Transport = statusTransport{s.soap.DefaultTransport()}
	}
	c.SessionID("") // An expired ID would be sent with the login.
	if s.opts.OnCall != nil {
		s.opts.OnCall("rest.Login")
	}
	if err := c.Login(ctx, url.UserPassword(user, password)); err != nil {
		return nil, fmt.Errorf("logging in to the REST API of vCenter %s as %q: %w", s.url.Host, user, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest, s.restOK = c, true
	return c, nil
}
