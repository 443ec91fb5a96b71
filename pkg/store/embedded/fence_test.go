// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

func TestAWriteGoesOnByTheFenceThatItFinds(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	fence := newFence("a")
	if _, err := plain.Put(t.Context(), fence.key, ""); err != nil { // by the process before
		t.Fatal(err)
	}
	kv := &repeatingKV{plain.KV, fence, func() <-chan struct{} { return nil }, func() mvcc.ReadView { return s.etcd.Server.KV() }}
	for _, value := range []string{"1", "2"} {
		got, err := kv.Get(t.Context(), "/k")
		if err != nil {
			t.Fatal(err)
		}
		resp, err := kv.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision("/k"), "=", revisionOf(got.Kvs))).Then(clientv3.OpPut("/k", value)).Commit()
		if err != nil || !resp.Succeeded {
			t.Errorf("writing %s: %v (error %v)", value, resp, err)
		}
	}
}

func TestAWriteWhoseFenceCannotMoveGetsTheAnswerOfEtcd(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	way := newWay(plain.KV)
	way.refusal = rpctypes.ErrNoSpace
	way.first = func(first commit, left <-chan struct{}) (*clientv3.TxnResponse, error) {
		resp, err := first()
		return way.late(resp, err, left)
	}
	resp, err := (&store{T: t, client: plain, key: "/k"}).write(way.over(t, s), 0, "v")
	if err != nil || !resp.Succeeded || way.tries != 1 {
		t.Errorf("Commit = %v after %d tries (error %v), want that it is done", resp, way.tries, err)
	}
}

// The fence is where an earlier process has left it, in a history that is forgotten.
func TestAWriteThatAnOldFenceKeepsOutIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	mine := &store{T: t, client: s.Client(), key: "/k"}
	t.Cleanup(func() { _ = mine.client.Close() })
	way := newWay(mine.client.KV)
	over := way.over(t, s)
	left, err := mine.client.Put(t.Context(), over.fence.key, "")
	if err != nil {
		t.Fatal(err)
	}
	expected := mine.put("old")
	if _, err := mine.client.Compact(t.Context(), expected); err != nil {
		t.Fatal(err)
	}
	way.first = func(_ commit, gone <-chan struct{}) (*clientv3.TxnResponse, error) {
		over.fence.found(0, left.Header.Revision) // by another write
		return way.late(nil, nil, gone)
	}
	resp, err := mine.write(over, expected, "new")
	if err != nil || !resp.Succeeded || way.tries != 2 {
		t.Errorf("Commit = %v after %d tries (error %v), want that it is done after 2", resp, way.tries, err)
	}
}

// A try to move it that was taken for lost comes after the next one, and a write has found that.
func TestAFenceIsNotTakenToBeWhereItWasBefore(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	f := newFence("a")
	var behind int64
	kv := putKV{plain.KV, func(put func() (*clientv3.PutResponse, error)) (*clientv3.PutResponse, error) {
		asked, err := put()
		if err != nil {
			return nil, err
		}
		other, err := put()
		if err != nil {
			return nil, err
		}
		behind = other.Header.Revision
		f.found(0, behind)
		return asked, nil
	}}
	at, err := f.move(t.Context(), kv, 0, func() <-chan struct{} { return nil })
	if err != nil || at != behind || f.at.Load() != behind {
		t.Errorf("move = %d, and it is at %d (error %v), want both at %d", at, f.at.Load(), err, behind)
	}
}

// putKV has another way to put.
type putKV struct {
	clientv3.KV
	put func(put func() (*clientv3.PutResponse, error)) (*clientv3.PutResponse, error)
}

func (k putKV) Put(ctx context.Context, key, value string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	return k.put(func() (*clientv3.PutResponse, error) { return k.KV.Put(ctx, key, value, opts...) })
}
