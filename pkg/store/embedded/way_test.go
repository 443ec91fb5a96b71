// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// wayKV is the way to a leader that changes: what becomes of the first transaction is up to
// the test.
type wayKV struct {
	clientv3.KV
	// first returns the answer to a commit. left is closed when nobody waits for it any more.
	first   func(first commit, left <-chan struct{}) (*clientv3.TxnResponse, error)
	changed chan struct{}
	// fenced is closed when a fence was moved, or could not be for refusal.
	fenced  chan struct{}
	refusal error
	tries   int
}

func newWay(kv clientv3.KV) *wayKV {
	return &wayKV{KV: kv, changed: make(chan struct{}), fenced: make(chan struct{})}
}

// over makes what repeats over it, on a store.
func (k *wayKV) over(t *testing.T, s *Server) *repeatingKV {
	asked := false
	changed := func() <-chan struct{} {
		if asked {
			return nil
		}
		asked = true
		return k.changed
	}
	return &repeatingKV{k, newFence(t.Name()), changed, func() mvcc.ReadView { return s.etcd.Server.KV() }}
}

// late answers after the leader has changed and the fence has moved, or not at all.
func (k *wayKV) late(resp *clientv3.TxnResponse, err error, left <-chan struct{}) (*clientv3.TxnResponse, error) {
	close(k.changed)
	if resp == nil && err == nil {
		<-left
		return nil, context.Canceled
	}
	<-k.fenced
	return resp, err
}

func (k *wayKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	defer close(k.fenced)
	if k.refusal != nil {
		return nil, k.refusal
	}
	return k.KV.Put(ctx, key, value, opts...)
}

func (k *wayKV) Txn(ctx context.Context) clientv3.Txn {
	k.tries++
	txn := k.KV.Txn(context.WithoutCancel(ctx))
	if k.tries > 1 {
		return txn
	}
	return &wayTxn{Txn: txn, left: ctx.Done(), way: k}
}

type wayTxn struct {
	clientv3.Txn
	left <-chan struct{}
	way  *wayKV
}

func (t *wayTxn) If(cs ...clientv3.Cmp) clientv3.Txn   { t.Txn = t.Txn.If(cs...); return t }
func (t *wayTxn) Then(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Then(ops...); return t }
func (t *wayTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(ops...); return t }

func (t *wayTxn) Commit() (*clientv3.TxnResponse, error) {
	return t.way.first(t.Txn.Commit, t.left)
}

// commit is a transaction that is on its way.
type commit = func() (*clientv3.TxnResponse, error)
