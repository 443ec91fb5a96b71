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

// Embedded creates stores that call an etcd member of this process directly. A request through the socket would be
// serialized twice and wake several goroutines, which is a third of the cost of a create.
type Embedded struct {
	generic.RESTOptionsGetter
	connect   func() *clientv3.Client
	compactor interface {
		etcd3.Compactor
		Stop()
	}
	// Close stops everything that all stores share. The stores must be destroyed before.
	Close func()
}

// NewEmbedded returns an Embedded that uses the options of getter and clients from connect. Revisions older than
// interval are compacted; 0 disables compaction.
func NewEmbedded(getter generic.RESTOptionsGetter, connect func() *clientv3.Client, interval time.Duration) *Embedded {
	client := connect()
	// These clients have no endpoints for the check of progress notifications. The watch cache needs such
	// notifications to answer consistent reads.
	feature.DefaultFeatureSupportChecker.CheckClient(client.Ctx(), oneEndpoint{client}, storage.RequestWatchProgress)
	compactor := etcd3.NewCompactor(client, interval, clock.RealClock{}, nil)
	return &Embedded{RESTOptionsGetter: getter, connect: connect, compactor: compactor, Close: sync.OnceFunc(func() {
		compactor.Stop()
		_ = client.Close() // returns only the error of its context
	})}
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (e *Embedded) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := e.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = e.store
	return options, err
}

// store implements generic.StorageDecorator. It returns the store of one kind with its watch cache.
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
		return nil, nil, fmt.Errorf("creating the watch cache of %s: %w", c.GroupResource, err)
	}
	delegator := cacherstorage.NewCacheDelegator(cacher, raw)
	destroy := sync.OnceFunc(func() { // subresources share a store and destroy it again
		delegator.Stop()
		cacher.Stop()
		closeRaw()
	})
	return delegator, destroy, nil
}

// raw returns the store of one kind without a watch cache. Each kind has its own client, because a watch cache
// requests the progress of its own watch only.
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
		return nil, nil, fmt.Errorf("creating the store of %s: %w", c.GroupResource, err)
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

// oneEndpoint is a client of the embedded etcd member that has one named endpoint.
type oneEndpoint struct{ *clientv3.Client }

// Endpoints returns the name of the endpoint.
func (oneEndpoint) Endpoints() []string { return []string{"embedded"} }

// Status returns the status of the embedded member.
func (c oneEndpoint) Status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	return c.Client.Status(ctx, endpoint)
}
