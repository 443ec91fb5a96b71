// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// writes counts the writes of each Machine, as received by a watch.
type writes struct {
	mu sync.Mutex
	// all are the writes until now, toNode those until status had a Node, and toReady those until it was ready.
	all, toNode, toReady map[string]int
	last                 time.Time
}

func newWrites() *writes {
	return &writes{all: map[string]int{}, toNode: map[string]int{}, toReady: map[string]int{}, last: time.Now()}
}

func (w *writes) ready() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.toReady) }

func (w *writes) total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, count := range w.all {
		n += count
	}
	return n
}

// quietFor returns the time since the last write.
func (w *writes) quietFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// see counts an event of a Machine.
func (w *writes) see(e watch.EventType, m *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := m.GetName()
	w.last = time.Now()
	if e == watch.Modified {
		w.all[name]++
	}
	node, _, _ := unstructured.NestedString(m.Object, "status", "nodeRef", "name")
	if _, had := w.toNode[name]; node != "" && !had {
		w.toNode[name] = w.all[name]
	}
	conditions, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if _, had := w.toReady[name]; c["type"] == "NodeHealthy" && c["status"] == "True" && !had {
			w.toReady[name] = w.all[name]
		}
	}
}

// follow watches the Machines, and provisions their infrastructure.
func (e *environment) follow(ctx context.Context) error {
	if err := e.watch(ctx, e.resource("machines"), e.machines.see); err != nil {
		return err
	}
	return e.watch(ctx, infra, func(kind watch.EventType, u *unstructured.Unstructured) {
		if kind == watch.Deleted || len(u.GetOwnerReferences()) == 0 {
			return
		}
		if id, _, _ := unstructured.NestedString(u.Object, "spec", "providerID"); id == "" {
			if err := e.provision(ctx, u.GetName()); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "provisioning:", err)
			}
		}
	})
}

// provision simulates the machine of an infrastructure object and creates its Node. It may be called again.
func (e *environment) provision(ctx context.Context, name string) error {
	id := "bench://" + name
	patch, err := json.Marshal(map[string]any{
		"spec": map[string]any{"providerID": id},
		"status": map[string]any{
			"initialization": map[string]any{"provisioned": true},
			"addresses":      []any{map[string]any{"type": "InternalIP", "address": "192.0.2.1"}},
			"conditions": []any{map[string]any{
				"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			}},
		},
	})
	if err != nil {
		return err
	}
	if _, err := e.objects.Resource(infra).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	if _, err := e.workload.AddNode(ctx, name, id); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// watch follows a kind until ctx is done. A server disconnects slow clients. The watch then continues at the last
// version, so that it misses no event.
func (e *environment) watch(ctx context.Context, resource schema.GroupVersionResource, see func(watch.EventType, *unstructured.Unstructured)) error {
	client := e.objects.Resource(resource).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return client.Watch(ctx, o) },
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", resource.Resource, err)
	}
	go func() {
		for event := range w.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
				see(event.Type, u)
			}
		}
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, errors.New("the watch of "+resource.Resource+" has ended: the counts are too low"))
		}
	}()
	return nil
}

// settled is the time without writes after which the Machines are idle.
const settled = 15 * time.Second

func (e *environment) settle(ctx context.Context) error {
	deadline := time.Now().Add(5 * time.Minute)
	for e.machines.quietFor() < settled {
		if time.Now().After(deadline) {
			progress("Machines are still written after five minutes")
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}
