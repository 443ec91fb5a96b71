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
	// maxHappenings bounds those that wait to be written. A host that fails has some
	// hundred virtual machines.
	maxHappenings = 4096
	// happeningTries is how often a write is tried, happeningPause the time between two.
	happeningTries = 5
	happeningPause = 2 * time.Second
)

// Recorder writes what vCenters report of virtual machines as Events of the management cluster. The
// name of an Event follows from its content, so that one that is reported again, after a restart or by
// another replica, is written once.
type Recorder struct {
	host     kubernetes.Interface
	reporter string
	waiting  chan happening
	results  *prometheus.CounterVec
}

// happening is one that waits; permit is of the vCenter that it is of.
type happening struct {
	provider.Happening
	permit func() error
}

// New returns a Recorder whose Events name reporter as their controller.
func New(host kubernetes.Interface, reporter string) *Recorder {
	h := &Recorder{
		host: host, reporter: reporter, waiting: make(chan happening, maxHappenings),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_vcenter_events_total",
			Help: "Events of virtual machines that vCenters told, by what became of them: written, known, dropped for want of room, failed.",
		}, []string{"result"}),
	}
	for _, result := range []string{"written", "known", "dropped", "failed"} {
		h.results.WithLabelValues(result) // a rate takes a beginning
	}
	return h
}

// Collector returns the metric.
func (r *Recorder) Collector() prometheus.Collector { return r.results }

// Of returns what takes the reports of one vCenter. They are written while permit, which is of that
// vCenter, returns nil.
func (r *Recorder) Of(permit func() error) func(provider.Happening) {
	return func(e provider.Happening) {
		select {
		case r.waiting <- happening{e, permit}:
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
				r.results.WithLabelValues(r.write(ctx, r.eventOf(&e.Happening))).Inc()
			}
		}
	}
}

// write returns what became of an event.
func (r *Recorder) write(ctx context.Context, event *eventsv1.Event) string {
	for try := 1; ; try++ {
		_, err := r.host.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
		switch {
		case err == nil:
			return "written"
		case apierrors.IsAlreadyExists(err):
			return "known"
		case try == happeningTries, ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			klog.FromContext(ctx).V(2).Info("What vSphere told of a virtual machine was not written as an Event",
				"virtualMachine", klog.KRef(event.Namespace, event.Regarding.Name), "reason", event.Reason, "err", err)
			return "failed"
		}
		select {
		case <-time.After(happeningPause):
		case <-ctx.Done():
			return "failed"
		}
	}
}

// eventOf returns the Event of a report.
func (r *Recorder) eventOf(h *provider.Happening) *eventsv1.Event {
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
