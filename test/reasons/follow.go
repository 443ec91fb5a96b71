// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// timeout bounds the last lists of a server.
const timeout = 30 * time.Second

// resource returns the resource of a kind.
func (k *Kind) resource(name string) schema.GroupVersionResource {
	r, _ := meta.UnsafeGuessKindToResource(k.Group.WithKind(name))
	return r
}

// Resources returns the resources of all kinds with conditions.
func Resources() (all []schema.GroupVersionResource) {
	for i := range Kinds {
		for _, name := range Kinds[i].Names {
			if r := Kinds[i].resource(name); !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// Check returns the conditions of an object that the table lacks.
func Check(o *unstructured.Unstructured) (lacks []string) {
	of := o.GroupVersionKind()
	for i := range Kinds {
		k := &Kinds[i]
		if k.Group != of.GroupVersion() || !slices.Contains(k.Names, of.Kind) {
			continue
		}
		status, _, _ := unstructured.NestedMap(o.Object, "status")
		entries := []any{status}
		if k.List != "" {
			entries, _, _ = unstructured.NestedSlice(status, k.List)
		}
		for _, entry := range entries {
			fields, _ := entry.(map[string]any)
			lacks = append(lacks, k.check(conditionsIn(fields))...)
		}
	}
	return lacks
}

// conditionsIn returns the conditions of a status, or of an entry of a list in it; none if they cannot be decoded.
func conditionsIn(fields map[string]any) []metav1.Condition {
	var has struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &has) != nil {
		return nil
	}
	return has.Conditions
}

// follower records the conditions on a server that the table lacks, and the differences between tools that wait for
// objects.
type follower struct {
	mu    sync.Mutex
	lacks map[string]bool
	// judged has the shapes of the objects that Agree has seen.
	judged map[string]bool
}

func (f *follower) check(obj any) {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	found := Check(o)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range found {
		f.lacks[text] = true
	}
	if like := shape(o); !f.judged[like] {
		f.judged[like] = true
		if err := Agree(o); err != nil {
			f.lacks[err.Error()] = true
		}
	}
}

// Follow checks the conditions of all objects on a server, now and after each change. stop ends that, and returns an
// error if a condition is missing in the table or Agree found a difference. Failed requests are retried.
func Follow(client dynamic.Interface) (stop func(context.Context) error) {
	f := &follower{lacks: map[string]bool{}, judged: map[string]bool{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	for _, r := range Resources() {
		informer := factory.ForResource(r).Informer()
		_ = informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}) // It fails only if the informer runs.
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{    // And this only if it has ended.
			AddFunc: f.check, UpdateFunc: func(_, obj any) { f.check(obj) }, DeleteFunc: f.check,
		})
	}
	end := make(chan struct{})
	factory.Start(end)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		for _, r := range Resources() { // The informers may be behind.
			if list, err := client.Resource(r).List(ctx, metav1.ListOptions{}); err == nil {
				for i := range list.Items {
					f.check(&list.Items[i])
				}
			}
		}
		close(end)
		factory.Shutdown()
		if len(f.lacks) == 0 {
			return nil
		}
		return errors.New(strings.Join(slices.Sorted(maps.Keys(f.lacks)), "\n"))
	}
}

// FollowServer is Follow for the server of config.
func FollowServer(config *rest.Config) (stop func(context.Context) error, err error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return Follow(client), nil
}

// FollowIn follows a server until the end of a test, which fails if the table lacks something.
func FollowIn(t testing.TB, config *rest.Config) {
	t.Helper()
	stop, err := FollowServer(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
