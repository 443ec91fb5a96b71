// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// lookInterval is how often it is looked whether there is a leader.
const lookInterval = 500 * time.Millisecond

// leaderless tells when the member has lost the quorum.
type leaderless struct {
	mu sync.Mutex
	// lost is closed when there is no leader for too long, and made anew when there is one.
	lost chan struct{}
}

// now is closed when the quorum is lost, also later.
func (l *leaderless) now() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// run looks until ctx is done.
func (l *leaderless) run(ctx context.Context, quorum func() error) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	closed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		lost := quorum() != nil
		l.mu.Lock()
		switch {
		case lost && !closed:
			close(l.lost)
		case !lost && closed:
			l.lost = make(chan struct{})
		}
		l.mu.Unlock()
		closed = lost
	}
}

// ledWatcher ends watches when the quorum is lost, with an error: this member would tell
// nothing any more, while others go on. Over a connection etcd does that by itself for
// clients that want it, as Kubernetes does.
type ledWatcher struct {
	clientv3.Watcher
	leaderless *leaderless
}

// Watch implements clientv3.Watcher.
func (w *ledWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	ctx, cancel := context.WithCancel(ctx)
	from, to := w.Watcher.Watch(ctx, key, opts...), make(chan clientv3.WatchResponse)
	lost := w.leaderless.now()
	go func() {
		defer cancel()
		defer close(to)
		for {
			var told clientv3.WatchResponse
			var ok bool
			select {
			case told, ok = <-from:
				if !ok {
					return
				}
			case <-lost:
				told, ok = clientv3.WatchResponse{Canceled: true}, false
			}
			select {
			case to <- told:
			case <-ctx.Done():
				return
			}
			if !ok {
				return
			}
		}
	}()
	return to
}
