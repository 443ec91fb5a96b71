// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/bootstrap"
	"github.com/slipway-dev/slipway/pkg/controller/vm/claims"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// Name of the controller in logs, metrics and its queue.
	Name = "virtualmachine"
	// DefaultWorkers is the number of workers when Deps names none.
	DefaultWorkers = 16
)

// Deps is what the controller needs. The zero value of a field is allowed only
// where its comment gives a default.
type Deps struct {
	// Client writes virtual machines and their instances.
	Client versioned.Interface
	// Informers watch our kinds. New registers what it needs; Run starts them.
	// They must have no resync of their own and be in the form that the server
	// has returned; only controller.AsKept may be applied.
	Informers externalversions.SharedInformerFactory
	// Host is the cluster that has Secrets, claims, and the ControllerRevisions of
	// versions before they were objects of our own API.
	Host kubernetes.Interface
	// Provider talks to the hypervisor.
	Provider provider.Provider
	// Recorder writes events.k8s.io events.
	Recorder events.EventRecorder
	// Prober runs readiness probes; nil leaves those that need a connection
	// unanswered.
	Prober probe.Connections
	// Addresses claims addresses of pools.
	Addresses claims.Pools
	// Machines are those of Kubernetes clusters whose infrastructure virtual machines are.
	Machines owner.Machines
	// Policy says what happens to references to instance types;
	// synchronizer.PolicyReference when empty.
	Policy synchronizer.Policy
	// NamespaceLabels are the labels of a namespace, nil if they are not known. Without it
	// none are.
	NamespaceLabels func(namespace string) map[string]string
	// Shard divides virtual machines by their vCenters; controller.Undivided when nil.
	Shard controller.Shard
	// VCenterOf names the vCenter of a virtual machine; it is empty for all when nil.
	VCenterOf func(vm *vmv1alpha1.VirtualMachine) string
	// Workers is the number of passes at once; DefaultWorkers when 0.
	Workers int
	// ResyncPeriod is the time between two resyncs of one virtual machine;
	// controller.DefaultResyncPeriod when 0.
	ResyncPeriod time.Duration
	// Blocking makes workers wait for the provider's operations.
	Blocking bool
	// FastDeploy is how the disks of virtual machines are made that say nothing, and whose
	// class says nothing; vmv1alpha1.FastDeployOff when empty.
	FastDeploy vmv1alpha1.FastDeployMode
	// Queue says in which order virtual machines of one priority are handed out.
	Queue controller.QueueOptions
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

func (d *Deps) setDefaults() {
	d.Policy = cmp.Or(d.Policy, synchronizer.PolicyReference)
	d.Workers = cmp.Or(d.Workers, DefaultWorkers)
	d.ResyncPeriod = cmp.Or(d.ResyncPeriod, controller.DefaultResyncPeriod)
	d.FastDeploy = cmp.Or(d.FastDeploy, vmv1alpha1.FastDeployOff)
	d.Shard = cmp.Or[controller.Shard](d.Shard, controller.Undivided{})
	if d.NamespaceLabels == nil {
		d.NamespaceLabels = func(string) map[string]string { return nil }
	}
	if d.VCenterOf == nil {
		d.VCenterOf = func(*vmv1alpha1.VirtualMachine) string { return "" }
	}
	d.Now = controller.Clock(d.Now)
}

func secretsOf(host kubernetes.Interface) bootstrap.Secrets {
	return func(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
		return host.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	}
}
