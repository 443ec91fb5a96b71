// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// tellDelay is how long after a write a change of words alone waits. A virtual machine says
// where it is several times while it is made, and a Machine that repeats each word at once
// would be written more often than for all that matters.
const tellDelay = 30 * time.Second

// tellings know when the status of each Machine was written last.
type tellings struct {
	mu sync.Mutex
	at map[types.NamespacedName]time.Time
}

func (t *tellings) put(key types.NamespacedName, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[types.NamespacedName]time.Time{}
	}
	t.at[key] = now
}

// remaining is how long words still wait, 0 if they do not.
func (t *tellings) remaining(key types.NamespacedName, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, t.at[key].Add(tellDelay).Sub(now))
}

func (t *tellings) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.at, key)
}

// repeated are conditions whose words come from other objects.
var repeated = []string{
	clusterv1alpha1.ReadyCondition, clusterv1alpha1.InfrastructureReadyCondition,
	clusterv1alpha1.MachineBootstrapConfigReadyCondition,
}

// sameButForWords is true for statuses that differ in reasons and messages of what is repeated,
// or in what is waited for.
func sameButForWords(a, b *clusterv1alpha1.MachineStatus) bool {
	return equality.Semantic.DeepEqual(withoutWords(a), withoutWords(b))
}

func withoutWords(st *clusterv1alpha1.MachineStatus) *clusterv1alpha1.MachineStatus {
	out := st.DeepCopy()
	for i := range out.Conditions {
		switch c := &out.Conditions[i]; {
		case slices.Contains(repeated, c.Type):
			c.Reason, c.Message, c.LastTransitionTime.Time = "", "", time.Time{}
		case c.Reason == clusterv1alpha1.InspectionFailedReason:
			c.Message = "" // what is waited for before there can be a Node
		}
	}
	return out
}
