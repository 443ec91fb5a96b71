// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
)

const (
	// period is the interval of checks in addition to those triggered by changes.
	period = time.Hour
	// firstRetry and lastRetry are the shortest and the longest pause after a failure.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Run keeps the certificate, its CA and the APIServices up to date until ctx is done.
func (m *Manager) Run(ctx context.Context) {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "servingcert", Clock: m.options.Clock},
	)
	defer queue.ShutDown()
	m.watch(ctx, func(any) { queue.Add(SecretName) })
	queue.Add(SecretName)
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for {
		key, stopped := queue.Get()
		if stopped {
			return
		}
		err := m.reconcile(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			queue.Forget(key)
			queue.AddAfter(key, period)
		case apierrors.IsConflict(err): // another replica was first
			queue.AddRateLimited(key)
		default:
			klog.FromContext(ctx).Error(err, "Failed to update the serving certificate; will retry")
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}

// watch calls changed when the Secret or an APIService changes. Each object is watched by name, because the server
// has no permission to read others.
func (m *Manager) watch(ctx context.Context, changed func(any)) {
	named := func(name string) func(*metav1.ListOptions) {
		return func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	o := &m.options
	secrets := informers.NewSharedInformerFactoryWithOptions(o.Host, 0, informers.WithNamespace(o.Namespace), informers.WithTweakListOptions(named(SecretName)))
	all := []cache.SharedIndexInformer{secrets.Core().V1().Secrets().Informer()}
	for _, name := range o.APIServices {
		all = append(all, dynamicinformer.NewFilteredDynamicInformer(o.Dynamic, apiservices.Resource, "", 0, cache.Indexers{}, named(name)).Informer())
	}
	for _, informer := range all {
		// It fails only if the informer has stopped.
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, is any) { changed(is) }, DeleteFunc: changed,
		})
		go informer.RunWithContext(ctx)
	}
}
