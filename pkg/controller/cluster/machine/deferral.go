// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// deferrals know which Machines are not looked at before a time, whatever happens to their
// Nodes, Pods and objects: a drain is slow, and to look at it more often does not hasten it.
// What somebody asks of the Machine itself ends a deferral, a hook that is removed for example.
type deferrals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]deferral
}

type deferral struct {
	until time.Time
	asked asked
}

// asked is what somebody asks of a Machine.
type asked struct {
	uid         types.UID
	generation  int64
	annotations map[string]string
	// deleting and paused are those of the Machine's Cluster, or of itself.
	deleting, clusterDeleting, paused bool
}

func askedOf(m *machine, c *cluster) asked {
	return asked{
		uid: m.UID, generation: m.Generation, annotations: m.Annotations, deleting: m.DeletionTimestamp != nil,
		clusterDeleting: c == nil || c.DeletionTimestamp != nil,
		paused:          members.Paused(c, m, step.MachineKind).Status == metav1.ConditionTrue,
	}
}

func (a asked) same(b asked) bool {
	return a.uid == b.uid && a.generation == b.generation && a.deleting == b.deleting &&
		a.clusterDeleting == b.clusterDeleting && a.paused == b.paused && maps.Equal(a.annotations, b.annotations)
}

// put defers a Machine.
func (d *deferrals) put(key types.NamespacedName, until time.Time, a asked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[types.NamespacedName]deferral{}
	}
	d.all[key] = deferral{until: until, asked: a}
}

// remaining is how long a Machine is still deferred, 0 if it is not.
func (d *deferrals) remaining(key types.NamespacedName, a asked, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.all[key]
	if ok && known.asked.same(a) && now.Before(known.until) {
		return known.until.Sub(now)
	}
	delete(d.all, key)
	return 0
}

// forget is called for a Machine that is gone.
func (d *deferrals) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, key)
}
