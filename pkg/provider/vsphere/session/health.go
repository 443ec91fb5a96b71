// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"k8s.io/klog/v2"
)

// Run makes a call at every interval of Options.KeepAlive until ctx is done, so
// that vCenter does not end a session that is merely idle.
func (s *Session) Run(ctx context.Context) {
	tick := time.NewTicker(s.opts.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.probe(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Keeping the vCenter session alive failed")
			}
		}
	}
}

// probe makes one cheap call that needs a session.
func (s *Session) probe(ctx context.Context) error {
	c, err := s.Vim(ctx)
	if err != nil {
		return err
	}
	if _, err := methods.GetCurrentTime(ctx, c); err != nil {
		return fmt.Errorf("asking vCenter %s for its time: %w", s.url.Host, err)
	}
	return nil
}

// healthyFor is how long one successful call counts as proof of health.
const healthyFor = 10 * time.Second

// Healthy returns nil while vCenter answers. It asks only if no call
// succeeded during the last ten seconds.
func (s *Session) Healthy(ctx context.Context) error {
	s.mu.Lock()
	fresh := s.lastErr == nil && time.Since(s.lastOK) < healthyFor
	s.mu.Unlock()
	if fresh {
		return nil
	}
	return s.probe(ctx)
}
