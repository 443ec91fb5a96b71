// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"time"

	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// repeatInterval is how often the log tells again of a stream that is lost for the same
// kind of reason.
const repeatInterval = 10 * time.Minute

// reporter tells the log of the stream: what is tried again every few seconds shall not
// fill it.
type reporter struct {
	// said is the kind of the last error that was told since everything was read.
	said vimfault.Kind
	at   time.Time
}

func (r *reporter) lost(logger klog.Logger, err error, pause time.Duration, now time.Time) {
	if kind := vimfault.KindOf(err); kind != r.said || now.Sub(r.at) >= repeatInterval {
		logger.Error(err, "The stream of vSphere changes was lost and is rebuilt", "after", pause)
		r.said, r.at = kind, now
	}
}

func (r *reporter) rebuilt(logger klog.Logger) {
	if r.said != vimfault.None {
		logger.Info("The stream of vSphere changes is rebuilt, and everything was read")
	}
	*r = reporter{}
}
