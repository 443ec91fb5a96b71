// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// resuming is a store that restarts a watch at its version if the first event has no previous value. etcd
// (api/v3rpc/watch.go, v3.7.3) starts a watch before it records that the client requested previous values, so an
// event in between has none (https://github.com/kubernetes/kubernetes/issues/100112). A reflector also restarts such
// a watch.
type resuming struct{ storage.Interface }

// Watch implements storage.Interface.
func (r resuming) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	inner, err := r.Interface.Watch(ctx, key, options)
	if err != nil || options.ResourceVersion == "" || options.ResourceVersion == "0" {
		return inner, err
	}
	events := make(chan watch.Event)
	outer := watch.NewProxyWatcher(events)
	next := func() (e watch.Event, ok bool) {
		select {
		case e, ok = <-inner.ResultChan():
		case <-outer.StopChan():
		}
		return e, ok
	}
	go func() {
		defer close(events)
		e, ok := next()
		if ok && withoutPrevious(e) {
			inner.Stop()
			if inner, err = r.Interface.Watch(ctx, key, options); err != nil {
				return
			}
			e, ok = next()
		}
		defer inner.Stop()
		for ; ok; e, ok = next() {
			select {
			case events <- e:
			case <-outer.StopChan():
				return
			}
		}
	}()
	return outer, nil
}

func withoutPrevious(e watch.Event) bool {
	return e.Type == watch.Error && strings.Contains(apierrors.FromObject(e.Object).Error(), "PrevKv=nil")
}
