// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"net/http"

	"github.com/vmware/govmomi/vapi/rest"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// WithREST calls do, within Options.CallTimeout, with a client of vCenter's REST API
// that is logged in. When the REST session turns out to be gone, it logs in and calls
// do once more; a call that was refused for that reason has changed nothing.
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

// WithLongREST is WithREST for a call that does not end before vCenter's work is done,
// which may take minutes. It takes no room from others and has longCallTimeout; who
// makes such calls bounds their number.
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
		if changes(method) {
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
	for {
		s.mu.Lock()
		c, number := s.rest, s.restNumber
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		if err := s.loginREST(ctx, vim, number); err != nil {
			return nil, err
		}
	}
}

// dropREST forgets c, whose session is gone, unless there is a new one already.
func (s *Session) dropREST(c *rest.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == c {
		s.rest = nil
	}
}
