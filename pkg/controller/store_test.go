// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// podInformer returns an informer that does not run. Its cache has the given pods.
func podInformer(pods ...*corev1.Pod) cache.SharedIndexInformer {
	informer := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Pods().Informer()
	for _, p := range pods {
		if err := informer.GetIndexer().Add(p); err != nil {
			panic(err)
		}
	}
	return informer
}

func TestStore_ReturnsOwnWritesUntilTheInformerHasThem(t *testing.T) {
	informer := podInformer(pod())
	s := NewStore[*corev1.Pod](informer, false)
	read := func() string {
		p, err := s.Get(podKey)
		if err != nil {
			t.Fatal(err)
		}
		return p.ResourceVersion
	}
	version := func(v string) *corev1.Pod { return pod(func(p *corev1.Pod) { p.ResourceVersion = v }) }
	s.RecordWrite(version("8"))
	if got := read(); got != "8" {
		t.Errorf("read version %s, want the own write 8", got)
	}
	if err := informer.GetIndexer().Update(version("9")); err != nil {
		t.Fatal(err)
	}
	s.RecordWrite(version("8"))
	if got := read(); got != "9" {
		t.Errorf("read version %s, want the informer's 9", got)
	}
}

// A reconcile reads the object several times, and the informer may be behind the whole time.
func TestStore_ReturnsCreatedObjectsUntilTheInformerHasThem(t *testing.T) {
	s := NewStore[*corev1.Pod](podInformer(), true)
	p := pod(func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() })
	s.RecordWrite(p)
	for i := range 3 {
		if got, err := s.Get(podKey); err != nil || got != p {
			t.Fatalf("read %d found %v (%v), want the created object", i+1, got, err)
		}
	}
	s.RecordDelete(p)
	if got, err := s.Get(podKey); err != nil || got != nil {
		t.Errorf("found %v (%v), want nothing after the deletion", got, err)
	}
}

// Another client deleted the object before the informer, which was relisting, received it.
func TestStore_ForgetsCreatedObjectsThatTheInformerNeverReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore[*corev1.Pod](podInformer(), true)
		s.RecordWrite(pod(func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() }))
		for range 2 * int(ownWritesTTL/time.Second) {
			<-time.After(time.Second)
			if _, err := s.Get(podKey); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Get(podKey); err != nil || got != nil {
			t.Errorf("found %v (%v) two minutes after it was created, want nothing", got, err)
		}
	})
}

func TestIfOwned_RequiresTheControllingOwner(t *testing.T) {
	yes := true
	owner := pod(func(p *corev1.Pod) { p.UID = "owner" })
	owned := pod(func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "a", UID: "owner", Controller: &yes}}
	})
	for name, c := range map[string]struct{ object, owner, want *corev1.Pod }{
		"owned":            {owned, owner, owned},
		"of another":       {owned, pod(), nil},
		"without an owner": {pod(), owner, nil},
		"no object":        {nil, owner, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IfOwned(c.object, c.owner); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestStripManagedFields_RemovesOnlyManagedFields(t *testing.T) {
	got, err := StripManagedFields(pod(func(p *corev1.Pod) {
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1("{}")}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(pod()), got); diff != "" {
		t.Errorf("transformed object (-want +got):\n%s", diff)
	}
}

func TestStripManagedFields_DoesNotChangeTombstones(t *testing.T) {
	want := cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod()}
	got, err := StripManagedFields(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("transformed tombstone (-want +got):\n%s", diff)
	}
}

// client returns the next version for each write and counts the writes.
type client struct {
	writes, statuses int
	err              error
}

func (c *client) Update(_ context.Context, next *corev1.Pod, _ metav1.UpdateOptions) (*corev1.Pod, error) {
	c.writes++
	next = next.DeepCopy()
	next.ResourceVersion = "9"
	return next, c.err
}

func (c *client) UpdateStatus(ctx context.Context, next *corev1.Pod, o metav1.UpdateOptions) (*corev1.Pod, error) {
	c.statuses++
	c.writes--
	return c.Update(ctx, next, o)
}

func TestStore_StoresWritesAndSkipsUnchangedStatus(t *testing.T) {
	s, c := NewStore[*corev1.Pod](podInformer(pod()), false), &client{}
	next := pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	for range 2 {
		if err := s.UpdateStatus(t.Context(), c, next); err != nil {
			t.Fatal(err)
		}
		stored, err := s.Get(podKey)
		if err != nil || stored.ResourceVersion != "9" || stored.Status.Phase != corev1.PodRunning {
			t.Fatalf("the store has %v (%v), want the written status", stored, err)
		}
		next = stored.DeepCopy()
	}
	if c.statuses != 1 {
		t.Errorf("%d writes of the status, want 1", c.statuses)
	}
	if _, err := s.Update(t.Context(), c, next); err != nil || c.writes != 1 {
		t.Errorf("%d writes, %v; want 1", c.writes, err)
	}
	c.err = apierrors.NewConflict(corev1.Resource("pods"), "web", nil)
	next.Status.Phase = corev1.PodFailed
	err := s.UpdateStatus(t.Context(), c, next)
	if want := "writing the status of Pod " + podKey.Name + ": "; !apierrors.IsConflict(err) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want a conflict that begins with %q", err, want)
	}
}

func TestStripManagedFields_MakesQuantitiesSafeToFormat(t *testing.T) {
	limit := resource.MustParse("1536Mi") // it has no cached text yet
	p := pod(func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
	})
	got, err := StripManagedFields(p)
	if err != nil {
		t.Fatal(err)
	}
	before := p.DeepCopy()
	if text := got.(*corev1.Pod).Spec.Volumes[0].EmptyDir.SizeLimit.String(); text != "1536Mi" {
		t.Errorf("the quantity is %s", text)
	}
	if !reflect.DeepEqual(before, got) { // reflect compares the private fields of quantities, cmp does not
		t.Error("formatting a quantity changed it")
	}
}
