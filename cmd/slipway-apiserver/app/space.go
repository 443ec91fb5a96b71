// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
)

const (
	// spaceInterval is how often it is looked whether something is to be told.
	spaceInterval = 10 * time.Second
	// spaceRepeat is when an Event is told again: the host cluster forgets those that are
	// older than an hour.
	spaceRepeat = 50 * time.Minute
	// levelEnough is that of a store about which there is nothing to tell.
	levelEnough = "Enough"
)

// spaceEvents tells by Events of the host cluster that the embedded etcd runs out of room, and
// that it has some again. They are about the ConfigMap that stands for the store.
type spaceEvents struct {
	host      kubernetes.Interface
	namespace string
	// told is the level that was told last, and when.
	told   string
	toldAt time.Time
}

// spaceTeller tells the host cluster of the room of the store, which is nil if that is no
// embedded one.
type spaceTeller interface {
	look(ctx context.Context, space *embedded.Space)
}

// spaceTellers are those who tell the host cluster of the room of the store. Without an
// embedded one, when etcd is nil, there is only something to take back.
func spaceTellers(o *Options, etcd *embedded.Server, c *config) ([]spaceTeller, error) {
	objects, err := dynamic.NewForConfig(c.hostConfig)
	if err != nil {
		return nil, fmt.Errorf("making the client of the host cluster for APIServices: %w", err)
	}
	replica, err := o.Members.name()
	if err != nil {
		return nil, err
	}
	namespace := o.Controllers.LeaderElectNamespace
	condition := &spaceCondition{objects: objects, namespace: namespace, replica: replica}
	if etcd == nil {
		return []spaceTeller{condition}, nil
	}
	condition.members = func() []string {
		var names []string
		for _, m := range etcd.Members() {
			names = append(names, m.Name)
		}
		return names
	}
	return []spaceTeller{&spaceEvents{host: c.host, namespace: namespace, told: levelEnough}, condition}, nil
}

// tellSpace lets all tell until ctx is done.
func tellSpace(ctx context.Context, space func() (*embedded.Space, error), tellers []spaceTeller) {
	ticker := time.NewTicker(spaceInterval)
	defer ticker.Stop()
	for {
		if is, err := space(); err == nil { // else the upkeep of the store says so
			for _, t := range tellers {
				t.look(ctx, is)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look tells what is new. What could not be told is told the next time.
func (e *spaceEvents) look(ctx context.Context, space *embedded.Space) {
	level := space.Level()
	if level == e.told && (level == levelEnough || time.Since(e.toldAt) < spaceRepeat) {
		return
	}
	now := time.Now()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: fmt.Sprintf("%s.%016x", identity.ConfigMapName, now.UnixNano())},
		EventTime:  metav1.NewMicroTime(now), ReportingController: serverName, ReportingInstance: serverName,
		Action: "Observe", Reason: "Space" + level, Type: corev1.EventTypeWarning,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.namespace, Name: identity.ConfigMapName},
	}
	if why := space.Err(); why != nil {
		event.Note = why.Error()
	} else {
		event.Type, event.Note = corev1.EventTypeNormal, fmt.Sprintf("the embedded etcd has room: %s", space)
	}
	bounded, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	if _, err := e.host.EventsV1().Events(e.namespace).Create(bounded, event, metav1.CreateOptions{}); err != nil {
		klog.FromContext(ctx).V(2).Info("The room of the store was not told by an Event", "reason", event.Reason, "err", err)
		return
	}
	e.told, e.toldAt = level, now
}
