// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	etcdclient "go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	cacherstorage "k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Embedded makes stores that call an etcd member of this process as a function. Through
// its socket each request is two serializations and some wake-ups of goroutines more,
// which is a third of what a create costs.
type Embedded struct {
	generic.RESTOptionsGetter
	connect   func() *clientv3.Client
	compactor interface {
		etcd3.Compactor
		Stop()
	}
	// Close ends what runs for all stores, which must be destroyed by then.
	Close func()
}

// NewEmbedded makes stores over clients of connect where getter makes them over
// connections. Revisions older than interval are compacted; 0 keeps all.
func NewEmbedded(getter generic.RESTOptionsGetter, connect func() *clientv3.Client, interval time.Duration) *Embedded {
	client := connect()
	// Such a client has no endpoints to ask whether they report progress, which the watch
	// cache needs to answer consistent reads by itself.
	feature.DefaultFeatureSupportChecker.CheckClient(client.Ctx(), oneEndpoint{client}, storage.RequestWatchProgress)
	compactor := etcd3.NewCompactor(client, interval, clock.RealClock{}, nil)
	return &Embedded{RESTOptionsGetter: getter, connect: connect, compactor: compactor, Close: sync.OnceFunc(func() {
		compactor.Stop()
		_ = client.Close() // says only that its context is done
	})}
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (e *Embedded) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := e.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = e.store
	return options, err
}

// store is generic.StorageDecorator: the store of one kind, behind its watch cache.
func (e *Embedded) store(
	c *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error), newFunc, newList func() runtime.Object,
	attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	raw, closeRaw, err := e.raw(c, newFunc, newList, prefix)
	if err != nil {
		return nil, nil, err
	}
	cacher, err := cacherstorage.NewCacherFromConfig(cacherstorage.Config{
		Storage: raw, Versioner: storage.APIObjectVersioner{}, GroupResource: c.GroupResource, EventsHistoryWindow: c.EventsHistoryWindow,
		ResourcePrefix: prefix, KeyFunc: key, NewFunc: newFunc, NewListFunc: newList, GetAttrsFunc: attributes,
		IndexerFuncs: triggers, Indexers: indexers, Codec: c.Codec,
	})
	if err != nil {
		closeRaw()
		return nil, nil, fmt.Errorf("making the watch cache of %s: %w", c.GroupResource, err)
	}
	delegator := cacherstorage.NewCacheDelegator(cacher, raw)
	destroy := sync.OnceFunc(func() { // subresources share a store and destroy it again
		delegator.Stop()
		cacher.Stop()
		closeRaw()
	})
	return delegator, destroy, nil
}

// raw is the store of one kind, with a client of its own: the watch cache of one kind
// asks for the progress of its own watch alone.
func (e *Embedded) raw(c *storagebackend.ConfigForResource, newFunc, newList func() runtime.Object, prefix string) (storage.Interface, factory.DestroyFunc, error) {
	client := &etcdclient.Client{Client: e.connect()}
	client.Kubernetes = client
	client.KV = etcd3.NewETCDLatencyTracker(client.KV)
	transformer := c.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	versioner := storage.APIObjectVersioner{}
	decoder := etcd3.NewDefaultDecoder(c.Codec, versioner)
	unsafe := utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
	if unsafe {
		transformer, decoder = etcd3.WithCorruptObjErrorHandlingTransformer(transformer), etcd3.WithCorruptObjErrorHandlingDecoder(decoder)
	}
	s, err := etcd3.New(client, e.compactor, c.Codec, newFunc, newList, c.Prefix, prefix, c.GroupResource, transformer,
		c.LeaseManagerConfig, decoder, versioner)
	if err != nil {
		_ = client.Close()
		return nil, nil, fmt.Errorf("making the store of %s: %w", c.GroupResource, err)
	}
	var made storage.Interface = s
	if unsafe {
		made = etcd3.NewStoreWithUnsafeCorruptObjectDeletion(s, c.GroupResource)
	}
	return made, func() {
		s.Close()
		_ = client.Close()
	}, nil
}

// oneEndpoint is a client of a member of this process with a name for it.
type oneEndpoint struct{ *clientv3.Client }

// Endpoints names the one that there is.
func (oneEndpoint) Endpoints() []string { return []string{"embedded"} }

// Status is that of the member.
func (c oneEndpoint) Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	return c.Client.Status(ctx, endpoint)
}
