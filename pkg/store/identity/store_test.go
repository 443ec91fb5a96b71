// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// full is an etcd that only answers reads: a transaction that could write is refused also
// when it would not. Other calls end the test.
type full struct {
	clientv3.KV
	key, value string
}

func (f full) Get(_ context.Context, key string, _ ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	got := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 7}}
	if key == f.key {
		got.Kvs = []*mvccpb.KeyValue{{Key: []byte(key), Value: []byte(f.value)}}
	}
	return got, nil
}

func TestF9FullStoreIsKnown(t *testing.T) {
	got, err := readStore(t.Context(), full{key: "/prefix/store-identity", value: "mine"}, "/prefix")
	if err != nil || got != (store{id: "mine", revision: 7}) {
		t.Errorf("read %+v, %v", got, err)
	}
}
