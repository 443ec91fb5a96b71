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

// Run makes a call every Options.KeepAlive until ctx is done, so that vCenter does not end an idle
// session.
func (s *Session) Run(ctx context.Context) {
	tick := time.NewTicker(s.opts.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.probe(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Failed to keep the vCenter session alive")
			}
		}
	}
}

// probe makes one cheap call that requires a session.
func (s *Session) probe(ctx context.Context) error {
	_, err := s.MeasureSkew(ctx)
	return err
}

// MeasureSkew reads the time of vCenter and returns how far its clock is ahead of the clock of this
// process. It assumes that vCenter read its clock in the middle of the call.
func (s *Session) MeasureSkew(ctx context.Context) (time.Duration, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	now, err := methods.GetCurrentTime(ctx, c)
	if err != nil {
		return 0, fmt.Errorf("reading the time of vCenter %s: %w", s.url.Host, err)
	}
	skew := now.Sub(sent.Add(time.Since(sent) / 2))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = &skew
	return skew, nil
}

// Skew returns the last result of MeasureSkew, which every keep-alive call updates. known is false
// before the first measurement.
func (s *Session) Skew() (skew time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skew == nil {
		return 0, false
	}
	return *s.skew, true
}

const (
	// maxSkew is the largest clock difference that does not cause a warning. The value is an
	// estimate.
	maxSkew = time.Minute
	// SkewTolerance is the largest clock difference at which decisions may rely on the times of
	// tasks.
	SkewTolerance = 5 * time.Minute
)

// DescribeSkew describes a clock difference. It is rounded to ten seconds, so that the text does
// not change with each measurement.
func DescribeSkew(skew time.Duration) string {
	way := "ahead of"
	if skew < 0 {
		way = "behind"
	}
	return fmt.Sprintf("vCenter's clock is %s %s the server's clock", skew.Abs().Round(10*time.Second), way)
}

// SkewWarning returns a warning for operators about a clock difference. It returns an empty string
// if the difference is small.
func SkewWarning(skew time.Duration) string {
	if skew.Abs() <= maxSkew {
		return ""
	}
	return fmt.Sprintf("%s: synchronize both with NTP; deletions that depend on vCenter tasks wait while the difference is more than %s", DescribeSkew(skew), SkewTolerance)
}

// healthyFor is how long a successful call proves health.
const healthyFor = 10 * time.Second

// Healthy returns nil if vCenter responds. It sends a call only if no call succeeded during the last
// ten seconds.
func (s *Session) Healthy(ctx context.Context) error {
	s.mu.Lock()
	fresh := s.lastErr == nil && time.Since(s.lastOK) < healthyFor
	s.mu.Unlock()
	if fresh {
		return nil
	}
	return s.probe(ctx)
}
