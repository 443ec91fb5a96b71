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
	_, err := s.MeasureSkew(ctx)
	return err
}

// MeasureSkew asks for the time of vCenter and returns how far its clock is ahead of that of
// this process. The answer is taken to be of the middle of the call.
func (s *Session) MeasureSkew(ctx context.Context) (time.Duration, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	now, err := methods.GetCurrentTime(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("asking vCenter %s for its time: %w", s.url.Host, err)
	}
	skew := now.Sub(sent.Add(time.Since(sent) / 2))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = &skew
	return skew, nil
}

// Skew returns what MeasureSkew found last, which is at every keep-alive call; known is false
// before the first time.
func (s *Session) Skew() (skew time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skew == nil {
		return 0, false
	}
	return *s.skew, true
}

const (
	// maxSkew is how far the clocks may be apart without a warning (judgement).
	maxSkew = time.Minute
	// SkewTolerance is how far they may be apart for what is decided by the times of tasks.
	SkewTolerance = 5 * time.Minute
)

// DescribeSkew is a skew in words, to ten seconds so that they do not change with each measurement.
func DescribeSkew(skew time.Duration) string {
	way := "ahead of"
	if skew < 0 {
		way = "behind"
	}
	return fmt.Sprintf("the clock of vCenter is %s %s that of the server", skew.Abs().Round(10*time.Second), way)
}

// SkewWarning is what operators should know of a skew, empty for nothing.
func SkewWarning(skew time.Duration) string {
	if skew.Abs() <= maxSkew {
		return ""
	}
	return fmt.Sprintf("%s: synchronize both with NTP; while it is more than %s, deletions that depend on the tasks of vCenter wait", DescribeSkew(skew), SkewTolerance)
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
