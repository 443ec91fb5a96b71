// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/embeddedetcd"
)

const (
	// releasePoll is how often a restored store is looked at, releaseNotice how often the
	// log says that it waits.
	releasePoll   = time.Second
	releaseNotice = time.Minute
)

// awaitRelease waits until somebody has said that what is in a restored store may be
// acted on. It returns false when ctx is done before. A store that cannot be asked waits.
func awaitRelease(ctx context.Context, dataDir string) bool {
	if dataDir == "" {
		return ctx.Err() == nil
	}
	var said time.Time
	return wait.PollUntilContextCancel(ctx, releasePoll, true, func(ctx context.Context) (bool, error) {
		waiting, err := embeddedetcd.Waiting(dataDir)
		if waiting && time.Since(said) >= releaseNotice {
			said = time.Now()
			klog.FromContext(ctx).Info("The store was restored: the API is served and nothing is done in vSphere until \"slipway-apiserver etcd release\"",
				"dataDir", dataDir, "err", err)
		}
		return !waiting, nil
	}) == nil
}
