// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func version(v string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ResourceVersion = v }
}

func urgent(p *corev1.Pod) { p.Labels = map[string]string{"urgent": "yes"} }

func TestEnqueuer_HandlerUsesPriorityOfStateAndEvent(t *testing.T) {
	for name, c := range map[string]struct {
		event func(cache.ResourceEventHandler)
		want  map[string]int
	}{
		"initial list":                {func(h cache.ResourceEventHandler) { h.OnAdd(pod(), true) }, map[string]int{"a": PriorityDefaultCreate}},
		"initial list, urgent":        {func(h cache.ResourceEventHandler) { h.OnAdd(pod(urgent), true) }, map[string]int{"a": PriorityDefaultCreate}},
		"initial list, waiting":       {func(h cache.ResourceEventHandler) { h.OnAdd(pod(func(p *corev1.Pod) { p.Name = "wait" }), true) }, map[string]int{}},
		"new":                         {func(h cache.ResourceEventHandler) { h.OnAdd(pod(), false) }, map[string]int{"a": PriorityDefaultCreate}},
		"new, urgent":                 {func(h cache.ResourceEventHandler) { h.OnAdd(pod(urgent), false) }, map[string]int{"a": 100}},
		"new, waiting":                {func(h cache.ResourceEventHandler) { h.OnAdd(pod(func(p *corev1.Pod) { p.Name = "wait" }), false) }, map[string]int{"wait": PriorityDefaultCreate}},
		"update that changed nothing": {func(h cache.ResourceEventHandler) { h.OnUpdate(pod(urgent), pod(urgent)) }, map[string]int{"a": PriorityDefaultUpdate}},
		"update":                      {func(h cache.ResourceEventHandler) { h.OnUpdate(pod(), pod(version("8"))) }, map[string]int{"a": PriorityDefaultUpdate}},
		"update, urgent":              {func(h cache.ResourceEventHandler) { h.OnUpdate(pod(), pod(version("8"), urgent)) }, map[string]int{"a": 100}},
		"deleted":                     {func(h cache.ResourceEventHandler) { h.OnDelete(pod()) }, map[string]int{"a": PriorityDefaultDelete}},
		"deletion that was missed":    {func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: pod(urgent)}) }, map[string]int{"a": 100}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnqueuer()
			e.CanWait = func(p *corev1.Pod) bool { return p.Name == "wait" }
			c.event(e.Handler())
			if diff := cmp.Diff(c.want, drained(e.Queue)); diff != "" {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnqueuer_HandlerIgnoresEchoes(t *testing.T) {
	e := newTestEnqueuer()
	var changes []string
	e.OnChange = func(old, p *corev1.Pod) {
		from := "nothing"
		if old != nil {
			from = old.ResourceVersion
		}
		changes = append(changes, from+" to "+p.ResourceVersion)
	}
	running := func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }
	e.Echoes.Expect(pod(running))
	h := e.Handler()
	h.OnUpdate(pod(), pod(running, version("8")))
	if got := drained(e.Queue); len(got) != 0 {
		t.Errorf("queued %v after the echo of an own write", got)
	}
	h.OnAdd(pod(), true)
	h.OnAdd(pod(), false)
	h.OnUpdate(pod(version("8")), pod(version("9")))
	if diff := cmp.Diff([]string{"nothing to 7", "8 to 9"}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestEnqueuer_GenericQueuesOnlyKnownObjects(t *testing.T) {
	e := newTestEnqueuer(pod(urgent))
	other := podKey
	other.Name = "unknown"
	e.EnqueueGeneric(podKey)
	e.EnqueueGeneric(other)
	if diff := cmp.Diff(map[string]int{"a": 100}, drained(e.Queue)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
	if got := [2]int{e.RequeuePriority(podKey), e.RequeuePriority(other)}; got != [2]int{100, PriorityDefaultGeneric} {
		t.Errorf("priorities after a reconcile are %v, want 100 and %d", got, PriorityDefaultGeneric)
	}
}
