// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// watched records the events of a client that resumes its watch after each interruption.
type watched struct {
	mu sync.Mutex
	// values are the values of each object, by its name, in the order of the events.
	values   map[string][]string
	versions []int64
	streams  int
	// gone are the ranges of resource versions without events, because their history was compacted. The first version
	// of a range is exclusive.
	gone     [][2]int64
	problems []string
}

// run watches until ctx is done.
func (w *watched) run(ctx context.Context, classes vmclient.VirtualMachineClassInterface) {
	version, before := "", int64(0)
	for ctx.Err() == nil {
		if version == "" {
			list, err := classes.List(ctx, metav1.ListOptions{})
			if err != nil {
				w.pause(ctx)
				continue
			}
			version = list.ResourceVersion
			if before > 0 {
				at, _ := strconv.ParseInt(version, 10, 64)
				w.gone = append(w.gone, [2]int64{before, at})
			}
			for i := range list.Items {
				w.saw(&list.Items[i], false)
			}
		}
		stream, err := classes.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				before, _ = strconv.ParseInt(version, 10, 64)
				version = ""
			}
			w.pause(ctx)
			continue
		}
		w.streams++
		var expired bool
		if version, expired = w.follow(stream, version); expired {
			before, _ = strconv.ParseInt(version, 10, 64)
			version = ""
		}
	}
}

func (*watched) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(loadPause):
	}
}

// follow reads a stream to its end. It returns the last resource version and whether the history after it was
// compacted.
func (w *watched) follow(stream watch.Interface, version string) (at string, expired bool) {
	defer stream.Stop()
	for event := range stream.ResultChan() {
		class, ok := event.Object.(*vmv1alpha1.VirtualMachineClass)
		if !ok {
			status, ok := event.Object.(*metav1.Status)
			return version, ok && (status.Reason == metav1.StatusReasonExpired || status.Reason == metav1.StatusReasonGone)
		}
		version = class.ResourceVersion
		if event.Type != watch.Bookmark {
			w.saw(class, true)
		}
	}
	return version, false
}

func (w *watched) saw(class *vmv1alpha1.VirtualMachineClass, event bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version, err := strconv.ParseInt(class.ResourceVersion, 10, 64)
	if err != nil {
		w.problems = append(w.problems, err.Error())
	}
	if n := len(w.versions); event && n > 0 && version <= w.versions[n-1] {
		w.problems = append(w.problems, fmt.Sprintf("%s at %d after %d", class.Name, version, w.versions[n-1]))
	}
	if event {
		w.versions = append(w.versions, version)
	}
	w.values[class.Name] = append(w.values[class.Name], class.Spec.Description)
}

// await waits for the events of the last acknowledged values.
func (w *watched) await(t *testing.T, last map[string]string) {
	t.Helper()
	for began := time.Now(); ; <-time.After(loadPause) {
		w.mu.Lock()
		missing := 0
		for name, value := range last {
			if values := w.values[name]; len(values) == 0 || values[len(values)-1] != value {
				missing++
			}
		}
		w.mu.Unlock()
		if missing == 0 {
			return
		}
		if time.Since(began) > deadline {
			t.Fatalf("the watch has no event of the last value of %d objects", missing)
		}
	}
}

// check checks that every acknowledged value had an event, unless its history was compacted.
func (w *watched) check(t *testing.T, name string, acked map[string]int64) {
	t.Helper()
	if len(w.problems) > 0 {
		t.Errorf("events of the watch are out of order or duplicated: %v", w.problems)
	}
	missing, untold := 0, 0
	for value, version := range acked {
		switch {
		case slices.Contains(w.values[name], value):
		case slices.ContainsFunc(w.gone, func(g [2]int64) bool { return version > g[0] && version <= g[1] }):
			untold++
		default:
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("the watch has no event of %d of %d writes of %s", missing, len(acked), name)
	}
	t.Logf("%s: %d acknowledged writes; the watch has %d events over %d streams, and %d writes were compacted", name, len(acked), len(w.values[name]), w.streams, untold)
}
