// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// login logs in over SOAP; connect is held, which guards refused too. The
// library keeps the cookie.
func (s *Session) login(ctx context.Context, c *vim25.Client) error {
	user, password, err := s.opts.Credentials(ctx)
	if err != nil {
		return s.note(fmt.Errorf("reading vCenter credentials: %w", err))
	}
	sum := sha256.Sum256([]byte(user + "\x00" + password))
	if r := s.refused; r.err != nil && r.credentials == sum && time.Since(r.at) < refusalPause {
		return r.err
	}
	if s.opts.OnCall != nil {
		s.opts.OnCall("Login")
	}
	plain := &vim25.Client{Client: c.Client, ServiceContent: c.ServiceContent, RoundTripper: c.Client}
	if err := session.NewManager(plain).Login(ctx, url.UserPassword(user, password)); err != nil {
		err = fmt.Errorf("logging in to vCenter %s as %q: %w", s.url.Host, user, err)
		if fault.Is(err, &types.InvalidLogin{}) {
			s.refused = refusal{credentials: sum, at: time.Now(), err: err}
		}
		return s.note(err)
	}
	s.refused = refusal{}
	s.mu.Lock()
	close(s.epoch)
	s.epoch = make(chan struct{})
	s.restOK = false
	s.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Logged in to vCenter", "host", s.url.Host, "user", user)
	return s.note(nil)
}

// relogin logs in unless somebody else did since the caller saw epoch.
func (s *Session) relogin(ctx context.Context, seen <-chan struct{}) error {
	s.connect.Lock()
	defer s.connect.Unlock()
	select {
	case <-seen:
		return nil
	default:
	}
	c := s.current()
	if c == nil {
		return errors.New("not connected to vCenter")
	}
	return s.login(ctx, c)
}
