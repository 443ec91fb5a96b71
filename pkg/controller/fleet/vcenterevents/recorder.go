// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenterevents

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// maxQueued is the maximum number of events that wait to be written. When a host fails, its VMs, up to some hundred, have
	// events.
	maxQueued = 4096
	// writeTries is the number of attempts to write an event, writePause the time between two attempts.
	writeTries = 5
	writePause = 2 * time.Second
)

// Recorder writes vSphere events of VMs as Events of the management cluster. The name of an Event is computed from its content, so
// that a vSphere event that is reported again, after a restart or by another replica, is written once.
type Recorder struct {
	host     kubernetes.Interface
	reporter string
	waiting  chan queuedEvent
	results  *prometheus.CounterVec
}

// queuedEvent is an event that waits to be written, with the permit of its vCenter.
type queuedEvent struct {
	provider.HypervisorEvent
	permit func() error
}

// New returns a Recorder whose Events name reporter as their controller.
func New(host kubernetes.Interface, reporter string) *Recorder {
	h := &Recorder{
		host: host, reporter: reporter, waiting: make(chan queuedEvent, maxQueued),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_vcenter_events_total",
			Help: "vSphere events of virtual machines, by result: written, known, dropped (queue full), or failed.",
		}, []string{"result"}),
	}
	for _, result := range []string{"written", "known", "dropped", "failed"} {
		h.results.WithLabelValues(result) // so that a rate has a first value
	}
	return h
}

// Collector returns the metric.
func (r *Recorder) Collector() prometheus.Collector { return r.results }

// Of returns a function that queues the events of one vCenter. They are written while permit of that vCenter returns nil.
func (r *Recorder) Of(permit func() error) func(provider.HypervisorEvent) {
	return func(e provider.HypervisorEvent) {
		select {
		case r.waiting <- queuedEvent{e, permit}:
		default:
			r.results.WithLabelValues("dropped").Inc()
		}
	}
}

// Run writes until ctx is done.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-r.waiting:
			if e.permit() == nil {
				r.results.WithLabelValues(r.write(ctx, r.eventOf(&e.HypervisorEvent))).Inc()
			}
		}
	}
}

// write writes an event and returns the result for the metric.
func (r *Recorder) write(ctx context.Context, event *eventsv1.Event) string {
	for try := 1; ; try++ {
		_, err := r.host.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
		switch {
		case err == nil:
			return "written"
		case apierrors.IsAlreadyExists(err):
			return "known"
		case try == writeTries, ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			klog.FromContext(ctx).V(2).Info("Writing a vSphere event failed",
				"virtualMachine", klog.KRef(event.Namespace, event.Regarding.Name), "reason", event.Reason, "err", err)
			return "failed"
		}
		select {
		case <-time.After(writePause):
		case <-ctx.Done():
			return "failed"
		}
	}
}

// eventOf converts a vSphere event to an Event.
func (r *Recorder) eventOf(h *provider.HypervisorEvent) *eventsv1.Event {
	id := fnv.New64a()
	_, _ = id.Write([]byte(h.ID + "/" + string(h.UID)))
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: h.Key.Namespace, Name: fmt.Sprintf("%s.%016x", h.Key.Name, id.Sum64())},
		EventTime:           metav1.NewMicroTime(h.At),
		ReportingController: r.reporter, ReportingInstance: r.reporter,
		Action: "Observe", Reason: h.Reason, Note: h.Note, Type: corev1.EventTypeNormal,
		Regarding: corev1.ObjectReference{
			APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine",
			Namespace: h.Key.Namespace, Name: h.Key.Name, UID: h.UID,
		},
	}
	if h.Warning {
		e.Type = corev1.EventTypeWarning
	}
	return e
}
