// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// keySuffix follows the prefix of the objects: two servers may share an etcd.
const keySuffix = "/store-identity"

// connected reads the store of an etcd over a connection of its own. There is one
// comparison in a minute.
func connected(config clientv3.Config, prefix string) func(context.Context) (store, error) {
	return func(ctx context.Context) (store, error) {
		config.Context = ctx
		client, err := clientv3.New(config)
		if err != nil {
			return store{}, fmt.Errorf("connecting to etcd: %w", err)
		}
		defer func() { _ = client.Close() }()
		return readStore(ctx, client, prefix)
	}
}

// readStore returns the identity of the store, which gets one if it has none. One that
// has is only read: an etcd that is full refuses every transaction that could write.
func readStore(ctx context.Context, etcd clientv3.KV, prefix string) (store, error) {
	key := prefix + keySuffix
	got, err := etcd.Get(ctx, key)
	if err != nil {
		return store{}, fmt.Errorf("reading the identity of the store: %w", err)
	}
	if len(got.Kvs) == 1 {
		return store{id: string(got.Kvs[0].Value), revision: got.Header.Revision}, nil
	}
	// Another replica may do the same.
	made, err := etcd.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, uuid.NewString()), clientv3.OpGet(key)).
		Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return store{}, fmt.Errorf("giving the store an identity: %w", err)
	}
	kvs := made.Responses[len(made.Responses)-1].GetResponseRange().GetKvs()
	if len(kvs) != 1 {
		return store{}, fmt.Errorf("giving the store an identity: %d keys %s", len(kvs), key)
	}
	return store{id: string(kvs[0].GetValue()), revision: made.Header.Revision}, nil
}
