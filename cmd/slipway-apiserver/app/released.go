// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	// releasePoll is how often a restored store is looked at, releaseNotice how often the
	// log says that it waits.
	releasePoll   = time.Second
	releaseNotice = time.Minute
)

// awaitRelease waits until somebody has said that what is in a restored store may be
// acted on. It returns false when ctx is done before. A store that cannot be asked waits.
// waiting asks the embedded etcd; it is nil without one.
func awaitRelease(ctx context.Context, waiting func(context.Context) (bool, error)) bool {
	if waiting == nil {
		return ctx.Err() == nil
	}
	var said time.Time
	return wait.PollUntilContextCancel(ctx, releasePoll, true, func(ctx context.Context) (bool, error) {
		waits, err := waiting(ctx)
		if waits && time.Since(said) >= releaseNotice {
			said = time.Now()
			klog.FromContext(ctx).Info("The store was restored: the API is served and nothing is done in vSphere until \"slipway-apiserver etcd release\"", "err", err)
		}
		return !waits, nil
	}) == nil
}
