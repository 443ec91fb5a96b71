// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

const (
	// doubt is after how long a write is looked after that has no answer. With a leader it
	// takes milliseconds.
	doubt = 2 * time.Second
	// droppedPause is before what was dropped is asked for again.
	droppedPause = 10 * time.Millisecond
	// droppedText is that of an error of Raft's, of which nothing else is left.
	droppedText = "raft proposal dropped"
	// mostHistory is how many revisions are gone through.
	mostHistory = 100_000
)

// repeatingKV repeats what was lost on the way to the leader. A member passes writes on to it
// without an answer, and one that is just handing over the lead drops them: etcd's client
// hears of that after seven seconds, and cannot tell whether they were done.
//
// A conditional write depends also on a fence. When the leader has changed, and a write has
// no answer, the fence moves, and then the write was done by then or never will be. If the
// history of its key, which this member has, shows that it was not, it is asked for again;
// in all other cases etcd's own answer is what is told.
type repeatingKV struct {
	clientv3.KV
	fence *fence
	// changed returns what is closed when another member leads.
	changed func() <-chan struct{}
	// history is that of this member.
	history func() mvcc.ReadView
}

// Get implements clientv3.KV.
func (k *repeatingKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	for {
		got, err := k.KV.Get(ctx, key, opts...)
		if !errors.Is(err, rpctypes.ErrLeaderChanged) || !pause(ctx) {
			return got, err
		}
	}
}

// Txn implements clientv3.KV.
func (k *repeatingKV) Txn(ctx context.Context) clientv3.Txn {
	t := &repeatingTxn{kv: k}
	t.commit = func() (*clientv3.TxnResponse, error) { return t.run(ctx) }
	return t
}

// repeatingTxn collects a transaction.
type repeatingTxn struct {
	kv              *repeatingKV
	commit          func() (*clientv3.TxnResponse, error)
	when            []clientv3.Cmp
	then, otherwise []clientv3.Op
}

// If implements clientv3.Txn.
func (t *repeatingTxn) If(when ...clientv3.Cmp) clientv3.Txn {
	t.when = when
	return t
}

// Then implements clientv3.Txn.
func (t *repeatingTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.then = ops
	return t
}

// Else implements clientv3.Txn.
func (t *repeatingTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.otherwise = ops
	return t
}

// Commit implements clientv3.Txn.
func (t *repeatingTxn) Commit() (*clientv3.TxnResponse, error) { return t.commit() }

func (t *repeatingTxn) run(ctx context.Context) (*clientv3.TxnResponse, error) {
	expected, ok := t.expected()
	if !ok {
		return t.kv.KV.Txn(ctx).If(t.when...).Then(t.then...).Else(t.otherwise...).Commit()
	}
	for {
		at := t.kv.fence.at.Load()
		resp, err := t.try(ctx, expected, at)
		switch {
		case errors.Is(err, errLost):
		case dropped(err):
			if !pause(ctx) {
				return nil, err
			}
		case err != nil || resp.Succeeded:
			return resp, err
		default:
			last := len(resp.Responses) - 1
			now := revisionOf(resp.Responses[last].GetResponseRange().GetKvs())
			if resp.Responses = resp.Responses[:last]; now == at {
				return resp, nil
			}
			t.kv.fence.found(at, now)
		}
	}
}

// expected is the revision on which a write of one key depends. Others are not known here,
// nor are those without a value, which may keep the one that is there.
func (t *repeatingTxn) expected() (int64, bool) {
	if len(t.when) != 1 || len(t.then) != 1 || len(t.then[0].RangeBytes()) > 0 {
		return 0, false
	}
	if op := t.then[0]; !op.IsDelete() && (!op.IsPut() || len(op.ValueBytes()) == 0) {
		return 0, false
	}
	for _, op := range t.otherwise {
		if !op.IsGet() {
			return 0, false
		}
	}
	c := t.when[0].GetCompare()
	return c.GetModRevision(), c.Target == etcdserverpb.Compare_MOD && c.Result == etcdserverpb.Compare_EQUAL &&
		len(c.RangeEnd) == 0 && bytes.Equal(c.Key, t.then[0].KeyBytes())
}

// errLost is of a write that was not done, and never will be.
var errLost = errors.New("the write was lost")

// try asks once, while the fence is where it is thought to be.
func (t *repeatingTxn) try(outer context.Context, expected, at int64) (*clientv3.TxnResponse, error) {
	type answer struct {
		resp *clientv3.TxnResponse
		err  error
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	since, changed, done := t.kv.history().Rev(), t.kv.changed(), make(chan answer, 1)
	go func() {
		otherwise := append(t.otherwise[:len(t.otherwise):len(t.otherwise)], clientv3.OpGet(t.kv.fence.key))
		resp, err := t.kv.KV.Txn(ctx).If(t.when[0], t.kv.fence.is(at)).Then(t.then...).Else(otherwise...).Commit()
		done <- answer{resp, err}
	}()
	late := time.NewTimer(doubt)
	defer late.Stop()
	select {
	case a := <-done:
		return a.resp, a.err
	case <-changed:
	case <-late.C:
	}
	lost := make(chan bool, 1)
	go func() {
		until, err := t.kv.fence.move(ctx, t.kv.KV, at, t.kv.changed)
		lost <- err == nil && !t.mayBeDone(ctx, expected, since, until)
	}()
	select {
	case a := <-done:
		return a.resp, a.err
	case surely := <-lost:
		if surely {
			return nil, errLost
		}
	}
	// If it was done, the answer is on its way, for this member has done it, too, before it
	// moved its fence.
	a := <-done
	return a.resp, a.err
}

// mayBeDone tells whether the write may have been done after one revision and up to another.
// Who writes the same at the same revision cannot be told from it here.
func (t *repeatingTxn) mayBeDone(ctx context.Context, expected, since, until int64) bool {
	since = max(since, expected)
	if since >= until {
		return false
	}
	key := t.then[0].KeyBytes()
	at := func(revision int64) (*mvccpb.KeyValue, error) {
		found, err := t.kv.history().Range(ctx, key, nil, mvcc.RangeOptions{Rev: revision})
		if err != nil || len(found.KVs) == 0 {
			return nil, err
		}
		return found.KVs[0], nil
	}
	last, err := at(until)
	if err == nil && expected > 0 && last.GetModRevision() == expected {
		return false
	}
	if until-since > mostHistory {
		return true
	}
	before, err := at(since)
	for since++; err == nil && since <= until; since++ {
		var now *mvccpb.KeyValue
		if now, err = at(since); err == nil && before.GetModRevision() == expected && t.made(now, before, since) {
			return true
		}
		before = now
	}
	return err != nil
}

// made tells whether a write like this one has made a key what it is at a revision.
func (t *repeatingTxn) made(now, before *mvccpb.KeyValue, revision int64) bool {
	if t.then[0].IsDelete() {
		return now == nil && before != nil
	}
	return now.GetModRevision() == revision && bytes.Equal(now.GetValue(), t.then[0].ValueBytes())
}

func revisionOf(found []*mvccpb.KeyValue) int64 {
	if len(found) == 0 {
		return 0
	}
	return found[0].ModRevision
}

// dropped tells that something was surely not done: the leader, which this member was, did not
// take it up, for it was just handing over.
func dropped(err error) bool { return err != nil && strings.Contains(err.Error(), droppedText) }

// pause returns false when ctx is done.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(droppedPause):
		return true
	}
}
