// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
	clusterclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/cluster/v1alpha1"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

// reconciler makes the passes.
type reconciler struct {
	client      clusterclient.ClusterV1alpha1Interface
	machines    controller.Store[*machine]
	echoes      *controller.Echoes[*machine]
	clusters    clusterlisters.ClusterLister
	sets        clusterlisters.MachineSetLister
	deployments clusterlisters.MachineDeploymentLister
	drainRules  clusterlisters.MachineDrainRuleLister
	// nodeRules say which labels and annotations of Machines go to Nodes besides those that always do.
	nodeRules node.Rules
	// grace is how long a workload cluster may be silent.
	grace time.Duration
	// members are the Machines of a Cluster.
	members   func(types.NamespacedName) []*machine
	objects   Objects
	writes    *controller.WriteLimit // of external objects
	workloads Workloads
	deferred  deferrals
	// synchronized are the states of Nodes that have what they are to have.
	synchronized sums
	recorder     events.EventRecorder
	now          func() time.Time
	// drain and detach are those of the packages.
	drain  func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	detach func(context.Context, kubernetes.Interface, drain.Input) (detach.Result, error)
}

// always are the phases of every pass, in this order. Each is run whether or not one before
// it has failed.
var always = []func(*scope, context.Context) error{
	(*scope).reconcileOwner,
	(*scope).reconcileBootstrap,
	(*scope).reconcileInfrastructure,
	(*scope).reconcileNode,
	(*scope).reconcileCertificates,
}

// Reconcile brings a Machine closer to its Node, or to its end.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.machines.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading Machine %s: %w", key, err)
	}
	if stored == nil || stored.DeletionTimestamp != nil && !hasFinalizer(stored) {
		r.deferred.forget(key)
		r.synchronized.forget(key)
		return controller.Result{}, nil
	}
	s := &scope{reconciler: r, now: r.now(), stored: stored, machine: stored.DeepCopy()}
	if s.cluster, err = r.clusterOf(stored); err != nil {
		return controller.Result{}, err
	}
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues(s.owners()...))
	if wait := r.deferred.remaining(key, askedOf(stored, s.cluster), s.now); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	if s.cluster == nil && !s.isDeleting() {
		return s.withoutCluster(ctx)
	}
	if !hasFinalizer(stored) {
		return s.addFinalizer(ctx)
	}
	if paused := members.Paused(s.cluster, stored, machineKind); paused.Status == metav1.ConditionTrue {
		s.set(paused)
		return s.finish(s.persistStatus(ctx, stored))
	}
	if err := s.readOwners(); err != nil {
		return controller.Result{}, err
	}
	return s.pass(ctx)
}

// pass reads what there is to know, runs the phases, and writes what came of it.
func (s *scope) pass(ctx context.Context) (controller.Result, error) {
	s.bootstrap = s.readExternal(ctx, s.machine.Spec.Bootstrap.ConfigRef)
	s.infra = s.readExternal(ctx, s.machine.Spec.InfrastructureRef)
	s.connect()
	visit := ctx
	if s.workload != nil && s.isDeleting() {
		bounded, done, err := s.workload.Visit(ctx)
		if errors.Is(err, workload.ErrBusy) {
			return controller.Result{RequeueAfter: controller.Soon}, nil
		}
		if err != nil {
			return controller.Result{}, err
		}
		defer done()
		visit = bounded
	}
	var failed []error
	for _, phase := range append(slices.Clone(always), s.lastPhase()) {
		if err := phase(s, visit); err != nil {
			failed = append(failed, err)
		}
	}
	if s.notBefore > 0 {
		s.deferred.put(s.key(), s.now.Add(s.notBefore), askedOf(s.stored, s.cluster))
	}
	s.updateStatus()
	return s.finish(s.persist(ctx, len(failed) == 0), failed...)
}

func (s *scope) lastPhase() func(*scope, context.Context) error {
	if s.isDeleting() {
		return (*scope).reconcileDelete
	}
	return (*scope).reconcileUpdate
}

// finish is how a pass ends whose writes ended with written and whose phases failed with
// failed. What somebody else has written meanwhile is looked at again.
func (s *scope) finish(written error, failed ...error) (controller.Result, error) {
	if apierrors.IsConflict(written) {
		s.again(controller.Conflict)
		written = nil
	}
	if err := errors.Join(append(failed, written)...); err != nil {
		return controller.Result{}, fmt.Errorf("machine %s: %w", s.key(), err)
	}
	return controller.Result{RequeueAfter: s.after}, nil
}

func hasFinalizer(m *machine) bool {
	return slices.Contains(m.Finalizers, clusterv1alpha1.MachineFinalizer)
}

// addFinalizer gives a Machine the finalizer that it should have from its creation on.
func (s *scope) addFinalizer(ctx context.Context) (controller.Result, error) {
	s.machine.Finalizers = append(s.machine.Finalizers, clusterv1alpha1.MachineFinalizer)
	_, err := s.machines.Update(ctx, s.client.Machines(s.machine.Namespace), s.machine)
	return s.finish(err)
}

// clusterOf is the Cluster of a Machine, nil when there is none.
func (r *reconciler) clusterOf(m *machine) (*cluster, error) {
	c, err := controller.Found(r.clusters.Clusters(m.Namespace).Get(m.Spec.ClusterName))
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", clusterKey(m), err)
	}
	return c, nil
}

// withoutCluster says that there is nothing to be done for a Machine before its Cluster is there.
func (s *scope) withoutCluster(ctx context.Context) (controller.Result, error) {
	missing := fmt.Errorf("there is no Cluster %s", clusterKey(s.machine))
	s.set(metav1.Condition{Type: clusterv1alpha1.ReadyCondition, Status: metav1.ConditionUnknown, Reason: clusterv1alpha1.InternalErrorReason, Message: missing.Error()})
	s.set(metav1.Condition{Type: clusterv1alpha1.AvailableCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotReadyReason})
	if s.machine.Status.Phase == "" {
		s.machine.Status.Phase, s.machine.Status.LastUpdated = phaseOf(s.machine), s.moment()
	}
	return s.finish(s.persistStatus(ctx, s.stored), missing)
}

// readOwners reads the MachineSet of the Machine, and the MachineDeployment of that. One that
// is named and not there is an error, but for a Machine that is being deleted, maybe with them.
func (s *scope) readOwners() error {
	name := ownerName(s.stored, machineSetKind)
	if name == "" {
		return nil
	}
	set, err := s.sets.MachineSets(s.stored.Namespace).Get(name)
	if err != nil {
		return s.ownerMissing(machineSetKind, name, err)
	}
	s.facts.set = set
	name = set.Labels[clusterv1alpha1.MachineDeploymentNameLabel]
	if name == "" {
		return nil
	}
	if s.deployment, err = s.deployments.MachineDeployments(s.stored.Namespace).Get(name); err != nil {
		s.deployment = nil
		if apierrors.IsNotFound(err) && metav1.GetControllerOf(set) == nil {
			return nil // It was deleted, and the set kept (--cascade=orphan).
		}
		return s.ownerMissing("MachineDeployment", name, err)
	}
	return nil
}

func (s *scope) ownerMissing(kind, name string, err error) error {
	if apierrors.IsNotFound(err) && s.isDeleting() {
		return nil
	}
	return fmt.Errorf("reading %s %s/%s, the owner of Machine %s: %w", kind, s.stored.Namespace, name, s.stored.Name, err)
}

// owners are what the log says of a Machine besides its key.
func (s *scope) owners() []any {
	values := []any{"cluster", s.stored.Spec.ClusterName}
	for _, o := range s.stored.OwnerReferences {
		if isTrue(o.Controller) {
			values = append(values, "owner", o.Kind+"/"+o.Name)
		}
	}
	return values
}

// emit bounds a note: it may have what the server of a workload cluster says, and one that is too
// long is refused.
func (s *scope) emit(kind, reason, note string, args ...any) {
	s.recorder.Eventf(s.stored, nil, kind, reason, "Reconcile", "%s", conditions.Note(note, args...))
}
