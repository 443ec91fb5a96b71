// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"net/http"

	"github.com/vmware/govmomi/vapi/rest"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// WithREST calls do with an authenticated REST client. Options.CallTimeout limits the call. If the
// REST session has ended, WithREST logs in and calls do once more; the refused call has changed
// nothing.
func (s *Session) WithREST(ctx context.Context, method string, do func(context.Context, *rest.Client) error) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	return s.withREST(ctx, method, do)
}

// WithLongREST is like WithREST for a call that ends only when vCenter has finished the operation,
// which may take minutes. longCallTimeout limits the call, and Options.MaxCalls does not count it:
// the caller must limit the number of such calls.
func (s *Session) WithLongREST(ctx context.Context, method string, do func(context.Context, *rest.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, longCallTimeout)
	defer cancel()
	return s.withREST(ctx, method, do)
}

func (s *Session) withREST(ctx context.Context, method string, do func(context.Context, *rest.Client) error) error {
	for try := 0; ; try++ {
		c, err := s.restClient(ctx)
		if err != nil {
			return err
		}
		if isChange(method) {
			if err := s.opts.Permit.Wait(ctx); err != nil {
				return err
			}
		}
		if s.opts.OnCall != nil {
			s.opts.OnCall(method)
		}
		if err = do(ctx, c); err == nil || try > 0 || !vimfault.HasStatus(err, http.StatusUnauthorized) {
			return err
		}
		s.dropREST(c)
	}
}

// LoginREST logs in to vCenter's REST API before the first call.
func (s *Session) LoginREST(ctx context.Context) error {
	_, err := s.restClient(ctx)
	return err
}

// restClient returns the REST client and logs in if needed.
func (s *Session) restClient(ctx context.Context) (*rest.Client, error) {
	vim, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		c, number := s.rest, s.restLoginCount
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		if err := s.loginREST(ctx, vim, number); err != nil {
			return nil, err
		}
	}
}

// dropREST discards c, whose session has ended, unless a new client has replaced it.
func (s *Session) dropREST(c *rest.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == c {
		s.rest = nil
	}
}
