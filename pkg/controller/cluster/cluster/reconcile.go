// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
	clusterclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/cluster/v1alpha1"
)

// reconciler implements the reconciliation of Clusters.
type reconciler struct {
	client                      clusterclient.ClusterV1alpha1Interface
	clusters                    controller.Store[*cluster]
	deployments, sets, machines cache.Indexer
	external                    External
	writes                      *controller.WriteLimit // Limits writes of external objects.
	connections                 Connections
	recorder                    events.EventRecorder
	grace                       time.Duration
	now                         func() time.Time
}

// reconcileRun is one reconcile of a Cluster.
type reconcileRun struct {
	*reconciler
	key types.NamespacedName
	// cluster is the object to write. observed is the observed state.
	cluster  *cluster
	observed *observedState
}

// Reconcile updates the status of a Cluster, or continues its deletion.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.clusters.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading Cluster %s: %w", key, err)
	}
	if stored == nil {
		return controller.Result{}, nil
	}
	p := &reconcileRun{reconciler: r, key: key, cluster: stored.DeepCopy()}
	p.observed = &observedState{now: r.now(), grace: r.grace, paused: members.Paused(stored, stored, clusterKind)}
	failed := error(nil)
	if p.observed.paused.Status == metav1.ConditionFalse {
		failed = p.run(ctx)
	}
	if apierrors.IsConflict(failed) {
		return controller.RequeueOnConflict(failed)
	}
	if p.cluster == nil {
		return controller.Result{}, failed // The Cluster was deleted.
	}
	until, err := computeStatus(p.cluster, p.observed)
	failed = errors.Join(failed, err)
	if err := r.clusters.UpdateStatus(ctx, r.client.Clusters(key.Namespace), p.cluster); err != nil {
		return controller.RequeueOnConflict(err)
	}
	if failed != nil {
		return controller.Result{}, fmt.Errorf("cluster %s: %w", key, failed)
	}
	again := controller.DefaultResyncPeriod
	if p.observed.infrastructure.isMissing() || p.observed.controlPlane.isMissing() {
		again = controller.Poll // An unlabelled object of an external kind triggers no event.
	}
	if !until.IsZero() {
		again = min(again, max(until.Sub(p.observed.now), time.Millisecond))
	}
	return controller.Result{RequeueAfter: again}, nil
}

// run reads the referenced objects and performs the next actions.
func (p *reconcileRun) run(ctx context.Context) error {
	c := p.cluster
	p.observed.infrastructure = p.read(ctx, c.Spec.InfrastructureRef)
	p.observed.controlPlane = p.read(ctx, c.Spec.ControlPlaneRef)
	// An error of one object does not prevent work on the other.
	unread := errors.Join(p.observed.infrastructure.err, p.observed.controlPlane.err)
	if c.DeletionTimestamp != nil {
		p.checkConnection()
		return errors.Join(p.continueDeletion(ctx), unread)
	}
	if !slices.Contains(c.Finalizers, clusterv1alpha1.ClusterFinalizer) {
		c.Finalizers = append(c.Finalizers, clusterv1alpha1.ClusterFinalizer)
		if err := p.update(ctx); err != nil {
			return err
		}
	}
	for _, e := range []*externalObject{&p.observed.infrastructure, &p.observed.controlPlane} {
		if err := p.adopt(ctx, e); err != nil {
			return err
		}
	}
	p.checkConnection()
	return errors.Join(p.setEndpoint(ctx), unread)
}

// checkConnection stores the state of the connection. It requests a connection if the infrastructure is provisioned.
func (p *reconcileRun) checkConnection() {
	f := p.observed
	provisioned := !f.infrastructure.isDefined() || ptr.Deref(p.cluster.Status.Initialization.InfrastructureProvisioned, false)
	if f.infrastructure.object != nil && !provisioned {
		is, err := contract.IsInfraProvisioned(f.infrastructure.kind, f.infrastructure.object)
		provisioned = err == nil && is
	}
	if !provisioned {
		f.connectionErr = errors.New("the infrastructure is not provisioned yet")
		return
	}
	f.connectionErr = p.connections.EnsureConnected(p.key)
	f.lastSuccess, f.failures = p.connections.Probe(p.key)
}

// read reads an object that the Cluster refers to.
func (p *reconcileRun) read(ctx context.Context, ref clusterv1alpha1.ContractVersionedObjectReference) externalObject {
	e := externalObject{ref: ref}
	if !ref.IsDefined() {
		return e
	}
	o, kind, err := p.external.Get(ctx, contract.Reference{Group: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}, p.key.Namespace)
	switch {
	case err == nil && o.GetDeletionTimestamp() == nil && p.controlledByAnother(o):
		e.reject(clusterv1alpha1.ObjectControlledByAnotherReason, "%s %s is controlled by %s %s and not by this Cluster",
			ref.Kind, ref.Name, metav1.GetControllerOf(o).Kind, metav1.GetControllerOf(o).Name)
	case err == nil:
		e.object, e.kind = o, kind
	case !contract.IsNotFound(err):
		e.err = fmt.Errorf("reading %s %s: %w", ref.Kind, ref.Name, err)
	}
	return e
}

// controlledByAnother reports whether an object has a controller other than this Cluster. A deleted Cluster of the same
// name does not count.
func (p *reconcileRun) controlledByAnother(o metav1.Object) bool {
	by := metav1.GetControllerOf(o)
	return by != nil && by.UID != p.cluster.UID &&
		(by.Kind != clusterKind || by.Name != p.key.Name || !strings.HasPrefix(by.APIVersion, clusterv1alpha1.GroupName+"/"))
}

// adopt sets the Cluster as the controller of an object and adds the cluster label, so that the object's events queue
// the Cluster.
func (p *reconcileRun) adopt(ctx context.Context, e *externalObject) error {
	if e.object == nil || e.object.GetDeletionTimestamp() != nil {
		return nil
	}
	next := e.object.DeepCopy()
	labelled, owned := members.SetClusterLabel(next, p.key.Name), members.SetController(next, p.cluster, clusterKind)
	if !labelled && !owned {
		return nil
	}
	if err := p.writes.Admit(next); err != nil {
		e.reject(conditions.ReasonTooManyWrites, "%v", err)
		return err
	}
	// Update with the resource version, so that a concurrent change of owner references is not lost.
	written, err := e.kind.Client.Resource(e.kind.GVR).Namespace(p.key.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("adopting %s %s: %w", e.ref.Kind, e.ref.Name, err)
	}
	e.object = written
	return nil
}

// setEndpoint sets spec.controlPlaneEndpoint from the referenced objects if it is not set.
func (p *reconcileRun) setEndpoint(ctx context.Context) error {
	if !p.cluster.Spec.ControlPlaneEndpoint.IsZero() {
		return nil
	}
	for _, e := range []*externalObject{&p.observed.infrastructure, &p.observed.controlPlane} {
		if e.object == nil {
			continue
		}
		endpoint, err := contract.ControlPlaneEndpoint(e.object)
		if err != nil {
			return err
		}
		if endpoint.Host == "" || endpoint.Port == 0 {
			continue
		}
		p.cluster.Spec.ControlPlaneEndpoint = endpoint
		err = p.update(ctx)
		if err != nil {
			p.cluster.Spec.ControlPlaneEndpoint = clusterv1alpha1.APIEndpoint{} // The status must describe the stored spec.
		}
		return err
	}
	return nil
}

// update writes metadata and spec.
func (p *reconcileRun) update(ctx context.Context) error {
	written, err := p.clusters.Update(ctx, p.client.Clusters(p.key.Namespace), p.cluster)
	if err == nil {
		p.cluster = written.DeepCopy()
	}
	return err
}

func (p *reconcileRun) recordEvent(reason, action, note string) {
	p.recorder.Eventf(p.cluster, nil, corev1.EventTypeNormal, reason, action, "%s", note)
}
