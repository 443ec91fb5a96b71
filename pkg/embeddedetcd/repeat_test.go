// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// wayKV is the way to a leader that changes: what becomes of the first transaction is up to
// the test.
type wayKV struct {
	clientv3.KV
	first   func(commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error)
	changed chan struct{}
	tries   int
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
	// left is closed when nobody waits any more.
	left <-chan struct{}
	way  *wayKV
}

func (t *wayTxn) If(cs ...clientv3.Cmp) clientv3.Txn   { t.Txn = t.Txn.If(cs...); return t }
func (t *wayTxn) Then(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Then(ops...); return t }
func (t *wayTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(ops...); return t }

func (t *wayTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.way.first(t.Txn.Commit)
	if resp == nil && err == nil {
		close(t.way.changed)
		<-t.left
		return nil, context.Canceled
	}
	return resp, err
}

// commit is a transaction that is on its way.
type commit = func() (*clientv3.TxnResponse, error)

// loss is what becomes of a write that gets no answer.
type loss struct {
	// old and new are empty for none, which makes it a creation or a deletion.
	old, new string
	becomes  func(*store, commit)
	// conflict is what the caller is told, and want what the key has then.
	conflict bool
	want     string
	// tries are how often it was asked for.
	tries int
}

// store is what a test writes to, at a key of its own.
type store struct {
	*testing.T
	client *clientv3.Client
	key    string
	// late is a commit that comes after all.
	late commit
}

func (s *store) put(value string) int64 {
	s.Helper()
	resp, err := s.client.Put(s.Context(), s.key, value)
	if err != nil {
		s.Fatal(err)
	}
	return resp.Header.Revision
}

func (s *store) remove() {
	s.Helper()
	if _, err := s.client.Delete(s.Context(), s.key); err != nil {
		s.Fatal(err)
	}
}

func (s *store) done(first commit) {
	s.Helper()
	if resp, err := first(); err != nil || !resp.Succeeded {
		s.Errorf("the first try: %v (error %v)", resp, err)
	}
}

func TestAWriteWithoutAnAnswerIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	lost := func(*store, commit) {}
	other := func(s *store, _ commit) { s.put("other") }
	for name, tc := range map[string]loss{
		"lost":             {"old", "new", lost, false, "new", 2},
		"a creation, lost": {"", "new", lost, false, "new", 2},
		"a deletion, lost": {"old", "", lost, false, "", 2},
		"done":             {"old", "new", (*store).done, false, "new", 1},
		"a creation, done": {"", "new", (*store).done, false, "new", 1},
		"a deletion, done": {"old", "", (*store).done, false, "", 1},
		"done, and overwritten": {"old", "new", func(s *store, first commit) {
			s.done(first)
			s.put("later")
		}, false, "later", 1},
		"a creation, done and deleted": {"", "new", func(s *store, first commit) {
			s.done(first)
			s.remove()
		}, false, "", 1},
		"lost, and another one came first":                             {"old", "new", other, true, "other", 2},
		"a creation, lost, and another one came first":                 {"", "new", other, true, "other", 2},
		"a creation that comes after all, when its object was deleted": {"", "new", func(s *store, first commit) { s.late = first }, false, "", 2},
	} {
		t.Run(name, func(t *testing.T) { tc.meets(&store{T: t, client: plain, key: t.Name()}, s) })
	}
}

// meets lets a write meet the loss.
func (tc *loss) meets(s *store, server *Server) {
	s.Helper()
	expected := int64(0)
	if tc.old != "" {
		expected = s.put(tc.old)
	}
	way := &wayKV{KV: s.client.KV, changed: make(chan struct{})}
	way.first = func(first commit) (*clientv3.TxnResponse, error) {
		tc.becomes(s, first)
		return nil, nil
	}
	op := clientv3.OpPut(s.key, tc.new)
	if tc.new == "" {
		op = clientv3.OpDelete(s.key)
	}
	resp, err := way.over(s.T, server).Txn(s.Context()).If(clientv3.Compare(clientv3.ModRevision(s.key), "=", expected)).Then(op).Else(clientv3.OpGet(s.key)).Commit()
	if err != nil {
		s.Fatal(err)
	}
	if resp.Succeeded == tc.conflict || way.tries != tc.tries {
		s.Errorf("it succeeds: %t after %d tries, want %t after %d", resp.Succeeded, way.tries, !tc.conflict, tc.tries)
	}
	if tc.conflict && (len(resp.Responses) != 1 || string(resp.Responses[0].GetResponseRange().Kvs[0].Value) != tc.want) {
		s.Errorf("instead it finds %v, want %q", resp.Responses, tc.want)
	}
	if s.late != nil {
		s.remove()
		if resp, err := s.late(); err != nil || resp.Succeeded {
			s.Errorf("what came after all: %v (error %v), want that it does nothing", resp, err)
		}
	}
	got, err := s.client.Get(s.Context(), s.key)
	if err != nil {
		s.Fatal(err)
	}
	var value string
	if len(got.Kvs) > 0 {
		value = string(got.Kvs[0].Value)
		if made := got.Kvs[0].ModRevision; resp.Succeeded && tc.want == tc.new && resp.Header.Revision != made {
			s.Errorf("it is said to have made revision %d, and has made %d", resp.Header.Revision, made)
		}
	}
	if value != tc.want {
		s.Errorf("the key has %q, want %q", value, tc.want)
	}
}

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

func TestAWriteThatNobodyCanTellOfFailsHonestly(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	way := &wayKV{KV: plain.KV, changed: make(chan struct{})}
	way.first = func(commit func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error) {
		resp, err := commit()
		if err == nil {
			_, err = plain.Put(t.Context(), "/k", "later")
		}
		if err == nil { // and nobody knows any more what was between
			_, err = plain.Compact(t.Context(), resp.Header.Revision+1)
		}
		return nil, err
	}
	kv := way.over(t, s)
	_, err := kv.Txn(t.Context()).If(clientv3.Compare(clientv3.ModRevision("/k"), "=", 0)).Then(clientv3.OpPut("/k", "v")).Commit()
	if !errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail) {
		t.Errorf("Commit = %v, want that nobody can tell", err)
	}
}

func TestWhatTheLeaderDropsIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	way := &wayKV{KV: plain.KV, changed: make(chan struct{})}
	way.first = func(func() (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error) {
		return nil, errors.New("rpc error: code = Unknown desc = raft proposal dropped")
	}
	kv := way.over(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, err := kv.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("/k"), "=", 0)).Then(clientv3.OpPut("/k", "v")).Commit()
	if err != nil || !resp.Succeeded || way.tries != 2 {
		t.Errorf("Commit = %v after %d tries (error %v)", resp, way.tries, err)
	}
}
