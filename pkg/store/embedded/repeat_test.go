// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// loss is what becomes of a write whose answer is late.
type loss struct {
	// old and new are empty for none, which makes it a creation or a deletion.
	old, new string
	// becomes returns the answer, nil for none.
	becomes func(*store, commit) *clientv3.TxnResponse
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

func (s *store) done(first commit) *clientv3.TxnResponse {
	s.Helper()
	resp, err := first()
	if err != nil || !resp.Succeeded {
		s.Errorf("the first try: %v (error %v)", resp, err)
	}
	return resp
}

func TestAWriteWithALateAnswerIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	lost := func(*store, commit) *clientv3.TxnResponse { return nil }
	other := func(s *store, _ commit) *clientv3.TxnResponse { s.put("other"); return nil }
	for name, tc := range map[string]loss{
		"lost":             {"old", "new", lost, false, "new", 2},
		"a creation, lost": {"", "new", lost, false, "new", 2},
		"a deletion, lost": {"old", "", lost, false, "", 2},
		"done":             {"old", "new", (*store).done, false, "new", 1},
		"a creation, done": {"", "new", (*store).done, false, "new", 1},
		"a deletion, done": {"old", "", (*store).done, false, "", 1},
		"done, and overwritten": {"old", "new", func(s *store, first commit) *clientv3.TxnResponse {
			defer s.put("later")
			return s.done(first)
		}, false, "later", 1},
		"a creation, done and deleted": {"", "new", func(s *store, first commit) *clientv3.TxnResponse {
			defer s.remove()
			return s.done(first)
		}, false, "", 1},
		"lost, and another one came first":                             {"old", "new", other, true, "other", 2},
		"a creation, lost, and another one came first":                 {"", "new", other, true, "other", 2},
		"a creation that comes after all, when its object was deleted": {"", "new", func(s *store, first commit) *clientv3.TxnResponse { s.late = first; return nil }, false, "", 2},
	} {
		t.Run(name, func(t *testing.T) { tc.meets(&store{T: t, client: plain, key: t.Name()}, s) })
	}
}

// write is that of a new value, or a deletion, on condition of a revision.
func (s *store) write(over *repeatingKV, expected int64, value string) (*clientv3.TxnResponse, error) {
	op := clientv3.OpPut(s.key, value)
	if value == "" {
		op = clientv3.OpDelete(s.key)
	}
	return over.Txn(s.Context()).If(clientv3.Compare(clientv3.ModRevision(s.key), "=", expected)).Then(op).Else(clientv3.OpGet(s.key)).Commit()
}

// meets lets a write meet the loss.
func (tc *loss) meets(s *store, server *Server) {
	s.Helper()
	expected := int64(0)
	if tc.old != "" {
		expected = s.put(tc.old)
	}
	way := newWay(s.client.KV)
	way.first = func(first commit, left <-chan struct{}) (*clientv3.TxnResponse, error) {
		return way.late(tc.becomes(s, first), nil, left)
	}
	resp, err := s.write(way.over(s.T, server), expected, tc.new)
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

func TestAWriteOfWhichNobodyKnowsGetsTheAnswerOfEtcd(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	for name, tc := range map[string]loss{
		"another one has written the same":       {old: "old", new: "new", becomes: func(s *store, _ commit) *clientv3.TxnResponse { s.put("new"); return nil }},
		"a creation, another one made the same":  {new: "new", becomes: func(s *store, _ commit) *clientv3.TxnResponse { s.put("new"); return nil }},
		"a deletion, another one has deleted it": {old: "old", becomes: func(s *store, _ commit) *clientv3.TxnResponse { s.remove(); return nil }},
		"what was between is forgotten": {new: "new", becomes: func(s *store, first commit) *clientv3.TxnResponse {
			s.done(first)
			if _, err := s.client.Compact(s.Context(), s.put("later")); err != nil {
				s.Error(err)
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mine := &store{T: t, client: plain, key: t.Name()}
			expected := int64(0)
			if tc.old != "" {
				expected = mine.put(tc.old)
			}
			way := newWay(plain.KV)
			way.first = func(first commit, left <-chan struct{}) (*clientv3.TxnResponse, error) {
				return way.late(tc.becomes(mine, first), rpctypes.ErrTimeout, left)
			}
			resp, err := mine.write(way.over(t, s), expected, tc.new)
			if !errors.Is(err, rpctypes.ErrTimeout) || way.tries != 1 {
				t.Errorf("Commit = %v after %d tries (error %v), want %v after 1", resp, way.tries, err, rpctypes.ErrTimeout)
			}
		})
	}
}

func TestOnlyWritesThatDependOnTheirKeyAreRepeated(t *testing.T) {
	t.Parallel()
	at := clientv3.Compare(clientv3.ModRevision("/k"), "=", 7)
	put, get := clientv3.OpPut("/k", "v"), clientv3.OpGet("/k")
	for name, tc := range map[string]struct {
		txn  repeatingTxn
		want bool
	}{
		"a write":                       {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{put}, otherwise: []clientv3.Op{get}}, true},
		"a deletion":                    {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{clientv3.OpDelete("/k")}}, true},
		"without a condition":           {repeatingTxn{then: []clientv3.Op{put}}, false},
		"with two conditions":           {repeatingTxn{when: []clientv3.Cmp{at, at}, then: []clientv3.Op{put}}, false},
		"of two keys":                   {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{put, clientv3.OpPut("/l", "v")}}, false},
		"of another key":                {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{clientv3.OpPut("/l", "v")}}, false},
		"of all keys below":             {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{clientv3.OpDelete("/k", clientv3.WithPrefix())}}, false},
		"on condition of all below":     {repeatingTxn{when: []clientv3.Cmp{at.WithPrefix()}, then: []clientv3.Op{put}}, false},
		"on condition of a version":     {repeatingTxn{when: []clientv3.Cmp{clientv3.Compare(clientv3.Version("/k"), "=", 7)}, then: []clientv3.Op{put}}, false},
		"when it is older":              {repeatingTxn{when: []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision("/k"), "<", 7)}, then: []clientv3.Op{put}}, false},
		"that keeps the value":          {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{clientv3.OpPut("/k", "", clientv3.WithIgnoreValue())}}, false},
		"a read":                        {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{get}}, false},
		"a write or else another write": {repeatingTxn{when: []clientv3.Cmp{at}, then: []clientv3.Op{put}, otherwise: []clientv3.Op{put}}, false},
	} {
		if revision, got := tc.txn.expected(); got != tc.want || got && revision != 7 {
			t.Errorf("%s: expected = %d, %t, want %t", name, revision, got, tc.want)
		}
	}
}

func TestWhatTheLeaderDropsIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	plain := s.Client()
	t.Cleanup(func() { _ = plain.Close() })
	way := newWay(plain.KV)
	way.first = func(commit, <-chan struct{}) (*clientv3.TxnResponse, error) {
		return nil, errors.New("rpc error: code = Unknown desc = raft proposal dropped")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, err := way.over(t, s).Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("/k"), "=", 0)).Then(clientv3.OpPut("/k", "v")).Commit()
	if err != nil || !resp.Succeeded || way.tries != 2 {
		t.Errorf("Commit = %v after %d tries (error %v)", resp, way.tries, err)
	}
}
