// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package livecontroller runs a complete controller over a fake server, in a bubble of testing/synctest.
//
// Guarantees: the package sets the fields that a real server sets on writes and the fakes do not. No goroutine runs
// after a test has ended.
package livecontroller

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

// Start runs a controller with its informers until stop is called or the test ends. It returns when all existing
// objects have been reconciled.
func Start(t *testing.T, run func(context.Context) error, informers interface{ Shutdown() }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		informers.Shutdown()
	})
	t.Cleanup(stop)
	After(time.Second)
	return stop
}

// After advances the time and waits until everything that is due has been done.
func After(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Call is a request as verb and resource: "update machines/status".
func Call(action clienttesting.Action) string {
	return strings.TrimSuffix(action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource(), "/")
}

// Versions generates resource versions, which caches compare to find the newer object. The fakes set none.
type Versions struct{ Last int }

// Next returns a version that no object has had.
func (v *Versions) Next() string {
	v.Last++
	return strconv.Itoa(v.Last)
}

// Stamp sets the resource version of a written object, and UID and creation time of a new one.
func (v *Versions) Stamp(action clienttesting.Action) {
	write, ok := action.(clienttesting.CreateAction)
	if !ok {
		return
	}
	o, ok := write.GetObject().(metav1.Object)
	if !ok {
		return
	}
	if o.SetResourceVersion(v.Next()); action.GetVerb() == "create" {
		o.SetUID(types.UID("uid-" + o.GetResourceVersion()))
		o.SetCreationTimestamp(metav1.Now())
	}
}
