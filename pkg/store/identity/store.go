// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// DefaultPrefix is the prefix of the objects in etcd, unless --etcd-prefix gives another one.
const DefaultPrefix = "/registry/slipway.dev"

// Keys below the prefix of the objects. Two servers may share an etcd with different prefixes.
const (
	idSuffix = "/store-identity"
	// heldSuffix is the key that exists while the controllers wait. Its value is the reason.
	heldSuffix = "/restored"
)

// store is what is compared.
type store interface {
	// read returns the state, and the reason why the controllers wait, which is empty if they do not.
	read(context.Context) (now state, held string, err error)
	// hold makes the controllers wait.
	hold(ctx context.Context, reason string) error
}

// etcdStore reads and writes the keys of a store in etcd.
type etcdStore struct {
	kv     clientv3.KV
	prefix string
}

// read implements store. A store that has no ID gets one. A store that has one is only read, because
// an etcd that is full refuses each transaction that could write.
func (s *etcdStore) read(ctx context.Context) (now state, held string, err error) {
	key := s.prefix + idSuffix
	got, err := s.kv.Txn(ctx).Then(clientv3.OpGet(key), clientv3.OpGet(s.prefix+heldSuffix)).Commit()
	if err != nil {
		return now, "", fmt.Errorf("reading the identity of the store: %w", err)
	}
	now = state{cluster: strconv.FormatUint(got.Header.ClusterId, 16), revision: got.Header.Revision}
	if kvs := got.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		held = string(kvs[0].Value)
	}
	if kvs := got.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		now.id = string(kvs[0].Value)
		return now, held, nil
	}
	id := uuid.NewString()
	put, err := s.kv.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, id)).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return now, "", fmt.Errorf("writing the identity of the store: %w", err)
	}
	if !put.Succeeded { // another replica was faster
		id = string(put.Responses[0].GetResponseRange().Kvs[0].Value)
	}
	now.id, now.revision = id, put.Header.Revision
	return now, held, nil
}

// Hold makes the controllers wait until Release. It keeps an earlier reason.
func Hold(ctx context.Context, kv clientv3.KV, prefix, reason string) error {
	key := prefix + heldSuffix
	_, err := kv.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(clientv3.OpPut(key, reason)).Commit()
	if err != nil {
		return fmt.Errorf("writing into the store that the controllers must wait: %w", err)
	}
	return nil
}

// Held returns the reason why the controllers wait, which is empty if they do not.
func Held(ctx context.Context, kv clientv3.KV, prefix string) (reason string, err error) {
	got, err := kv.Get(ctx, prefix+heldSuffix)
	if err != nil {
		return "", fmt.Errorf("reading whether the controllers wait: %w", err)
	}
	if len(got.Kvs) == 0 {
		return "", nil
	}
	return string(got.Kvs[0].Value), nil
}

// Release lets the controllers act on a store that is held. It reports whether it was held.
func Release(ctx context.Context, kv clientv3.KV, prefix string) (bool, error) {
	removed, err := kv.Delete(ctx, prefix+heldSuffix)
	if err != nil {
		return false, fmt.Errorf("releasing the store: %w", err)
	}
	return removed.Deleted > 0, nil
}

func (s *etcdStore) hold(ctx context.Context, reason string) error {
	return Hold(ctx, s.kv, s.prefix, reason)
}
