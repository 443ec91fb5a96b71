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

// deferrals contains the Machines for which events of Nodes, Pods and referenced objects are ignored for a time. A
// drain, for example, is slow and does not profit from more reconciles. A change of the Machine itself, such as a
// removed hook, ends the deferral.
type deferrals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]deferral
}

type deferral struct {
	until  time.Time
	inputs inputs
}

// inputs is the part of a Machine and its Cluster that users change.
type inputs struct {
	uid         types.UID
	generation  int64
	annotations map[string]string
	// deleting is of the Machine, clusterDeleting of its Cluster, and paused of either.
	deleting, clusterDeleting, paused bool
}

func inputsOf(m *machine, c *cluster) inputs {
	return inputs{
		uid: m.UID, generation: m.Generation, annotations: m.Annotations, deleting: m.DeletionTimestamp != nil,
		clusterDeleting: c == nil || c.DeletionTimestamp != nil,
		paused:          members.Paused(c, m, step.MachineKind).Status == metav1.ConditionTrue,
	}
}

func (a inputs) equal(b inputs) bool {
	return a.uid == b.uid && a.generation == b.generation && a.deleting == b.deleting &&
		a.clusterDeleting == b.clusterDeleting && a.paused == b.paused && maps.Equal(a.annotations, b.annotations)
}

// put defers a Machine until the given time.
func (d *deferrals) put(key types.NamespacedName, until time.Time, a inputs) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[types.NamespacedName]deferral{}
	}
	d.all[key] = deferral{until: until, inputs: a}
}

// remaining returns for how long a Machine is still deferred. It returns 0 if it is not.
func (d *deferrals) remaining(key types.NamespacedName, a inputs, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.all[key]
	if ok && known.inputs.equal(a) && now.Before(known.until) {
		return known.until.Sub(now)
	}
	delete(d.all, key)
	return 0
}

// forget removes a deleted Machine.
func (d *deferrals) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, key)
}
