// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podKey is the key of the pod that most tests use.
var podKey = types.NamespacedName{Namespace: "ns", Name: "a"}

// pod returns an object with a status.
func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "a", UID: "uid-a", ResourceVersion: "7", Generation: 1, Finalizers: []string{"test/f"},
	}}
	for _, f := range change {
		f(p)
	}
	return p
}

func TestEchoes_MatchOnlyOwnStatusWrites(t *testing.T) {
	written := func(change ...func(*corev1.Pod)) *corev1.Pod {
		return pod(append(change, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })...)
	}
	stored := func(change ...func(*corev1.Pod)) *corev1.Pod {
		return written(append(change, func(p *corev1.Pod) { p.ResourceVersion = "8" })...)
	}
	for name, c := range map[string]struct {
		from, to *corev1.Pod
		before   func(*Echoes[*corev1.Pod])
		want     bool
	}{
		"the echo":                        {from: pod(), to: stored(), want: true},
		"a second time":                   {from: pod(), to: stored(), before: func(e *Echoes[*corev1.Pod]) { e.IsEcho(pod(), stored()) }},
		"after the write failed":          {from: pod(), to: stored(), before: func(e *Echoes[*corev1.Pod]) { e.Forget(podKey) }},
		"from another version":            {from: stored(), to: stored()},
		"another status":                  {from: pod(), to: stored(func(p *corev1.Pod) { p.Status.HostIP = "192.0.2.1" })},
		"another client's change of spec": {from: pod(), to: pod()},
		"of another object":               {from: pod(), to: stored(func(p *corev1.Pod) { p.Name = "b" })},
		// After a relist, one update leads from the version before our write to a version that also has another
		// client's change.
		"with a change of spec":        {from: pod(), to: stored(func(p *corev1.Pod) { p.Spec.NodeName, p.Generation = "b", 2 })},
		"with a deletion":              {from: pod(), to: stored(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)} })},
		"with a change of labels":      {from: pod(), to: stored(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })},
		"with a change of annotations": {from: pod(), to: stored(func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} })},
		"with a change of finalizers":  {from: pod(), to: stored(func(p *corev1.Pod) { p.Finalizers = nil })},
		"with a change of owners":      {from: pod(), to: stored(func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "group"}} })},
		"of a recreated object":        {from: pod(), to: stored(func(p *corev1.Pod) { p.UID = "uid-2" })},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEchoes(func(p *corev1.Pod) any { return &p.Status })
			e.Expect(written())
			if c.before != nil {
				c.before(e)
			}
			if got := e.IsEcho(c.from, c.to); got != c.want {
				t.Errorf("echo = %t, want %t", got, c.want)
			}
		})
	}
}
