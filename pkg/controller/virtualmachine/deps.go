// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"

	"github.com/slipway-dev/slipway/pkg/controller/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/controller/virtualmachine/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// Name of the controller in logs, metrics and its queue.
	Name = "virtualmachine"
	// DefaultWorkers is the number of workers when Deps names none.
	DefaultWorkers = 16
	// DefaultResyncPeriod is the time between two resyncs of one virtual machine
	// when Deps names none.
	DefaultResyncPeriod = 10 * time.Minute

	// retryBase and retryMax bound the growing delay of a key that fails.
	retryBase = 50 * time.Millisecond
	retryMax  = 5 * time.Minute
)

// Deps is what the controller needs. The zero value of a field is allowed only
// where its comment gives a default.
type Deps struct {
	// Client writes virtual machines and their instances.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	// They must have no resync of their own and be in the form that the server
	// has returned; only WithoutManagedFields may be applied.
	Informers externalversions.SharedInformerFactory
	// Host is the cluster that has Secrets, claims and ControllerRevisions.
	Host kubernetes.Interface
	// Provider talks to the hypervisor.
	Provider provider.Provider
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Prober runs readiness probes; nil leaves those that need a connection
	// unanswered.
	Prober Prober
	// Policy says what happens to references to instance types;
	// synchronizer.PolicyReference when empty.
	Policy synchronizer.Policy
	// Workers is the number of passes at once; DefaultWorkers when 0.
	Workers int
	// ResyncPeriod is the time between two resyncs of one virtual machine;
	// DefaultResyncPeriod when 0.
	ResyncPeriod time.Duration
	// Blocking makes workers wait for the provider's operations.
	Blocking bool
	// QueueAging bounds the time that the default priorities can starve; 0 keeps
	// the strict order.
	QueueAging time.Duration
	// QueueFairness lets the namespaces take turns within one priority.
	QueueFairness bool
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

func (d *Deps) setDefaults() {
	if d.Policy == "" {
		d.Policy = synchronizer.PolicyReference
	}
	if d.Workers == 0 {
		d.Workers = DefaultWorkers
	}
	if d.ResyncPeriod == 0 {
		d.ResyncPeriod = DefaultResyncPeriod
	}
	if d.Now == nil {
		d.Now = time.Now
	}
}

// newQueue makes the queue. Only the default priorities age: what the state of a
// virtual machine asks for is never put behind them.
func newQueue(d Deps) *priorityqueue.Queue[types.NamespacedName] {
	type key = types.NamespacedName
	options := []priorityqueue.Option[key]{
		priorityqueue.WithMetrics[key](),
		priorityqueue.WithRateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[key](retryBase, retryMax)),
	}
	if d.QueueAging > 0 {
		options = append(options, priorityqueue.WithAging[key](priorityqueue.Aging{
			After:   d.QueueAging,
			Applies: func(priority int) bool { return priority < 0 },
		}))
	}
	if d.QueueFairness {
		options = append(options, priorityqueue.WithFairness(func(k key) string { return k.Namespace }))
	}
	return priorityqueue.New(Name, options...)
}

func secretsOf(host kubernetes.Interface) secretReader {
	return func(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
		return host.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	}
}
