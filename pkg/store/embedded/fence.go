// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// fencePrefix is that of the keys of fences, which are beside those of objects.
const fencePrefix = "/slipway.dev/fences/"

// fence is a key of this member's own on whose revision its writes depend. When it has moved,
// no write that was asked for before will be done any more.
type fence struct {
	key string
	// at is the revision at which it is, 0 before it has moved for the first time.
	at atomic.Int64
	// moving is held by who moves it.
	moving chan struct{}
}

func newFence(name string) *fence {
	return &fence{key: fencePrefix + name, moving: make(chan struct{}, 1)}
}

// is the condition that it has not moved.
func (f *fence) is(at int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(f.key), "=", at)
}

// found says where it is, to who thought that it were at another revision.
func (f *fence) found(thought, at int64) { f.at.CompareAndSwap(thought, at) }

// move moves it away from a revision, and returns where it is then. changed tells when what it
// asks for may have been lost.
func (f *fence) move(ctx context.Context, kv clientv3.KV, from int64, changed func() <-chan struct{}) (int64, error) {
	select {
	case f.moving <- struct{}{}:
		defer func() { <-f.moving }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if at := f.at.Load(); at != from {
		return at, nil
	}
	type answer struct {
		at  int64
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		lost, done := changed(), make(chan answer, 1)
		go func() {
			put, err := kv.Put(ctx, f.key, "")
			if err != nil {
				done <- answer{err: err}
				return
			}
			done <- answer{at: put.Header.Revision}
		}()
		select {
		case a := <-done:
			switch {
			case a.err == nil:
				// Unless it was found behind that already, where an earlier try has moved it.
				f.at.CompareAndSwap(from, a.at)
				return f.at.Load(), nil
			case !dropped(a.err) || !pause(ctx):
				return 0, a.err
			}
		case <-lost: // once more: it may move twice
		}
	}
}
