// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenterevents

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestEvent_IsWrittenOnceIfReportedSeveralTimes(t *testing.T) {
	host := fake.NewClientset()
	moved := provider.HypervisorEvent{
		Key: types.NamespacedName{Namespace: "ns", Name: "web"}, UID: "uid", ID: "vcenter-uuid/7", At: time.Unix(1000, 0),
		Reason: "Migrated", Note: "vSphere moved the virtual machine",
	}
	// By a process, by the same process after it lost its stream, and by the next process.
	for range 2 {
		h := New(host, "slipway-apiserver")
		for _, want := range []string{"written", "known"} {
			if got := h.write(t.Context(), h.eventOf(&moved)); got != want && got != "known" {
				t.Errorf("the event was %s, want %s", got, want)
			}
		}
	}
	all, err := host.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("%d events, %v; want one", len(all.Items), err)
	}
	e := all.Items[0]
	if e.Type != "Normal" || e.Reason != "Migrated" || e.Regarding.UID != "uid" || !e.EventTime.Time.Equal(moved.At) || len(validation.IsDNS1123Subdomain(e.Name)) != 0 {
		t.Errorf("the event is %+v", e)
	}
	another := moved
	another.ID = "vcenter-uuid/8"
	h := New(host, "slipway-apiserver")
	if got := h.write(t.Context(), h.eventOf(&another)); got != "written" {
		t.Errorf("another event of the same kind was %s, want written", got)
	}
}

func TestEvents_AreWrittenOnlyWithAPermit(t *testing.T) {
	host := fake.NewClientset()
	h := New(host, "slipway-apiserver")
	h.Of(func() error { return errors.New("another replica has the Lease") })(provider.HypervisorEvent{Key: types.NamespacedName{Namespace: "ns", Name: "not-ours"}, ID: "1"})
	h.Of(func() error { return nil })(provider.HypervisorEvent{Key: types.NamespacedName{Namespace: "ns", Name: "ours"}, ID: "2"})
	go h.Run(t.Context())
	watching, err := host.EventsV1().Events("ns").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	// An event that was written before the watch began is in the list.
	all, err := host.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Items) == 0 {
		<-watching.ResultChan()
		if all, err = host.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(all.Items) != 1 || all.Items[0].Regarding.Name != "ours" {
		t.Errorf("events %+v, want that of the virtual machine that is ours", all.Items)
	}
}

func TestEvents_AreDroppedIfTheQueueIsFull(t *testing.T) {
	h := New(fake.NewClientset(), "slipway-apiserver")
	tell := h.Of(func() error { return nil })
	for range maxQueued + 10 {
		tell(provider.HypervisorEvent{}) // must not block
	}
	if got := len(h.waiting); got != maxQueued {
		t.Errorf("%d wait, want %d", got, maxQueued)
	}
}
