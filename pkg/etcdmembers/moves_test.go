// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// writer counts up the versions of a key, as the API server does it: each write depends on the
// revision of the one before.
type writer struct {
	client   *clientv3.Client
	key      string
	written  int64
	slowest  time.Duration
	failures []error
}

func (w *writer) run(ctx context.Context) {
	revision := int64(0)
	for ctx.Err() == nil {
		began := time.Now()
		resp, err := w.client.Txn(context.WithoutCancel(ctx)).If(clientv3.Compare(clientv3.ModRevision(w.key), "=", revision)).
			Then(clientv3.OpPut(w.key, fmt.Sprint(w.written+1))).Else(clientv3.OpGet(w.key)).Commit()
		w.slowest = max(w.slowest, time.Since(began))
		switch {
		case err != nil:
			w.failures = append(w.failures, err)
		case !resp.Succeeded:
			w.failures = append(w.failures, fmt.Errorf("write %d: somebody else has written %v", w.written+1, resp.Responses[0].GetResponseRange().GetKvs()))
		default:
			revision = resp.Header.Revision
			w.written++
		}
		got, err := w.client.Get(context.WithoutCancel(ctx), w.key)
		if err != nil {
			w.failures = append(w.failures, err)
		} else if text := values(got); text != fmt.Sprint(w.written) {
			w.failures = append(w.failures, fmt.Errorf("after write %d it reads %q", w.written, text))
		}
		if len(w.failures) > 0 {
			return
		}
	}
}

// A member that is told to stop hands over the lead. Requests that are under way to it, from
// clients of the others, are not its own to wait for.
func TestMovesOfTheLeaderFailNoRequest(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	all := []string{"r-0", "r-1", "r-2"}
	r.start(all...)
	r.members("r-0", all...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers []*writer
	var writing sync.WaitGroup
	for _, name := range all {
		client := r.all[name].Client()
		defer func() { _ = client.Close() }()
		for i := range 4 {
			w := &writer{client: client, key: fmt.Sprintf("/by-%s/%d", name, i)}
			writers = append(writers, w)
			writing.Go(func() { w.run(ctx) })
		}
	}
	const moves = 15
	for n := range moves {
		from, to := r.leader(), r.all[all[n%3]]
		if from.ID() == to.ID() {
			continue
		}
		if err := from.Yield(t.Context(), to.ID()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	writing.Wait()
	for _, w := range writers {
		for _, err := range w.failures {
			t.Errorf("%s: %v", w.key, err)
		}
		t.Logf("%s: %d writes, the slowest took %s", w.key, w.written, w.slowest.Round(time.Millisecond))
	}
}

// leader waits until a member leads.
func (r *replicas) leader() *Member {
	r.Helper()
	for began := time.Now(); time.Since(began) < deadline; {
		for _, m := range r.all {
			if m.Leads() {
				return m
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
	r.Fatal("no member leads")
	return nil
}
