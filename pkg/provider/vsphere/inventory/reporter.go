// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"time"

	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// repeatInterval is the minimum time between log entries for a stream that is lost for the same kind of reason.
const repeatInterval = 10 * time.Minute

// reporter logs the loss and recovery of the stream. It suppresses repeated entries, because the stream is retried
// every few seconds.
type reporter struct {
	// lastKind is the kind of the last logged error since the last full read.
	lastKind vimfault.Kind
	at       time.Time
}

func (r *reporter) lost(logger klog.Logger, err error, pause time.Duration, now time.Time) {
	if kind := vimfault.KindOf(err); kind != r.lastKind || now.Sub(r.at) >= repeatInterval {
		logger.Error(err, "Lost the stream of vSphere changes; rebuilding it", "after", pause)
		r.lastKind, r.at = kind, now
	}
}

func (r *reporter) rebuilt(logger klog.Logger) {
	if r.lastKind != vimfault.None {
		logger.Info("Rebuilt the stream of vSphere changes")
	}
	*r = reporter{}
}
