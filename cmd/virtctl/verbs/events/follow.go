// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// follow prints the events after a list, until ctx ends. After an expired resource version it lists again, and
// prints no event twice.
func (s *EventSource) follow(ctx context.Context, listed []corev1.Event, version string, table *eventTable) error {
	printed := map[types.UID]string{}
	remember := func(all []corev1.Event) {
		for i := range all {
			printed[all[i].UID] = all[i].ResourceVersion
		}
	}
	remember(listed)
	for {
		err := s.watch(ctx, version, func(e *corev1.Event) {
			if printed[e.UID] != e.ResourceVersion && s.Belongs.has(ctx, e) {
				table.print(*e)
				printed[e.UID] = e.ResourceVersion
			}
		}, func(gone types.UID) { delete(printed, gone) })
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return err
		}
		var all []corev1.Event
		if all, version, err = s.List(ctx); err != nil {
			return err
		}
		for i := range all {
			if printed[all[i].UID] != all[i].ResourceVersion {
				table.print(all[i])
			}
		}
		clear(printed)
		remember(all)
	}
}

// watch reports events from a resource version on. It reconnects after a broken connection, and returns an error if
// it cannot.
func (s *EventSource) watch(ctx context.Context, version string, seen func(*corev1.Event), gone func(types.UID)) error {
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = s.selector()
			return s.Host.CoreV1().Events(s.Namespace).Watch(ctx, options)
		},
	})
	if err != nil {
		return fmt.Errorf("watching events: %w", err)
	}
	defer watcher.Stop()
	for change := range watcher.ResultChan() {
		switch e, ok := change.Object.(*corev1.Event); {
		case change.Type == watch.Error:
			return fmt.Errorf("watching events: %w", apierrors.FromObject(change.Object))
		case ok && change.Type == watch.Deleted:
			gone(e.UID)
		case ok && (change.Type == watch.Added || change.Type == watch.Modified):
			seen(e)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("watching events: the watch ended")
}
