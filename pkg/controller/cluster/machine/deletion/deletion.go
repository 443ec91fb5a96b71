// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion deletes what belongs to a Machine in order. A deletion is a table of stages: how far it is, and
// since when, is persisted, and no stage is repeated after it has ended. What could not be read is not taken for
// deleted. Drain and detach have packages of their own.
package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/external"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	clusterlisters "github.com/slipway-dev/slipway/pkg/generated/listers/cluster/v1alpha1"
)

// Reconciler deletes Machines.
type Reconciler struct {
	External *external.Reconciler
	// Members returns the Machines of a Cluster.
	Members    func(cluster types.NamespacedName) []*clusterv1alpha1.Machine
	DrainRules clusterlisters.MachineDrainRuleLister
	// Drain and Detach are the functions of the packages.
	Drain  func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	Detach func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	Events step.Events
}

// run is one reconcile of a Machine that is being deleted.
type run struct {
	*Reconciler
	*step.State
	step.Report
}

// stage is a step of a deletion.
type stage struct {
	name clusterv1alpha1.MachineDeletionStage
	// ofNode is true for what is only done where the workload cluster outlives the Machine.
	ofNode bool
	// do tells whether the stage has ended. With an error it has not.
	do func(*run, context.Context) (bool, error)
}

// stages follow one another. Each begins when the one before it has ended, and none is gone
// back to: that it ended was persisted with the name of the next.
var stages = []stage{
	{clusterv1alpha1.MachineDeletionStagePreDrainHook, true, (*run).waitForPreDrainHooks},
	{clusterv1alpha1.MachineDeletionStageDrain, true, (*run).drainNode},
	{clusterv1alpha1.MachineDeletionStageVolumeDetach, true, (*run).waitForVolumes},
	{clusterv1alpha1.MachineDeletionStagePreTerminateHook, false, (*run).waitForPreTerminateHooks},
	{clusterv1alpha1.MachineDeletionStageInfrastructure, false, (*run).deleteInfrastructure},
	{clusterv1alpha1.MachineDeletionStageBootstrap, false, (*run).deleteBootstrap},
	{clusterv1alpha1.MachineDeletionStageNode, true, (*run).deleteNode},
	{clusterv1alpha1.MachineDeletionStageCompleted, false, (*run).complete},
}

// Reconcile continues a deletion as far as possible.
func (d *Reconciler) Reconcile(ctx context.Context, s *step.State) (step.Report, error) {
	r := &run{Reconciler: d, State: s}
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingReason, Message: "Deletion started"}
	err := r.reconcile(ctx)
	return r.Report, err
}

func (r *run) reconcile(ctx context.Context) error {
	refused, err := r.Refusal(ctx, r.State, &r.Report)
	if errors.Is(err, errNodeRead) {
		return nil // It is checked again.
	}
	if err != nil {
		err = fmt.Errorf("finding out whether the Node may be deleted: %w", err)
		r.Deleting = step.Progress{Reason: clusterv1alpha1.InternalErrorReason, Message: err.Error()}
		return err
	}
	if refused != "" {
		klog.FromContext(ctx).V(2).Info("The Node is left as it is", "node", r.Machine.Status.NodeRef.Name, "because", refused)
	}
	for _, st := range stages[stageIndex(r.Machine):] {
		if st.ofNode && refused != "" {
			continue
		}
		r.enter(st.name)
		if done, err := st.do(r, ctx); err != nil || !done {
			return err
		}
	}
	return nil
}

// stageIndex is the stage that a deletion is at.
func stageIndex(m *clusterv1alpha1.Machine) int {
	if m.Status.Deletion == nil {
		return 0
	}
	return max(0, slices.IndexFunc(stages, func(st stage) bool { return st.name == m.Status.Deletion.Stage }))
}

// enter begins a stage, unless it has begun.
func (r *run) enter(name clusterv1alpha1.MachineDeletionStage) {
	d := r.status()
	if d.Stage != name {
		d.Stage, d.StageStartTime = name, r.Moment()
	}
}

// status returns how far the deletion is.
func (r *run) status() *clusterv1alpha1.MachineDeletionStatus {
	if r.Machine.Status.Deletion == nil {
		r.Machine.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{}
	}
	return r.Machine.Status.Deletion
}

// began keeps when something began, or sets it to now.
func (r *run) began(at **metav1.Time) time.Time {
	if *at == nil {
		*at = r.Moment()
	}
	return (*at).Time
}

// isOver tells whether a time of seconds has passed since started; nil and 0 never pass. It
// has the Machine looked at when it will have.
func (r *run) isOver(seconds *int32, started time.Time) bool {
	if seconds == nil || *seconds <= 0 {
		return false
	}
	left := started.Add(time.Duration(*seconds) * time.Second).Sub(r.Now)
	r.Again(left)
	return left <= 0
}

// waitForPreDrainHooks waits until nobody keeps the Node from being drained. Nothing is looked
// at meanwhile: that a hook is removed is an event.
func (r *run) waitForPreDrainHooks(context.Context) (bool, error) {
	waiting := r.waitForHooks(clusterv1alpha1.PreDrainDeleteHookAnnotationPrefix, clusterv1alpha1.WaitingForPreDrainHookReason, "pre-drain")
	if waiting {
		r.began(&r.status().WaitForPreDrainHookStartTime)
	}
	return !waiting, nil
}

// waitForPreTerminateHooks waits until nobody keeps the infrastructure from being deleted.
func (r *run) waitForPreTerminateHooks(context.Context) (bool, error) {
	waiting := r.waitForHooks(clusterv1alpha1.PreTerminateDeleteHookAnnotationPrefix, clusterv1alpha1.WaitingForPreTerminateHookReason, "pre-terminate")
	if waiting {
		r.began(&r.status().WaitForPreTerminateHookStartTime)
	}
	return !waiting, nil
}

// waitForHooks is true while the Machine has annotations that begin with prefix.
func (r *run) waitForHooks(prefix, reason, name string) bool {
	hooks := hooksOf(r.Machine, prefix)
	if len(hooks) == 0 {
		return false
	}
	r.Deleting = step.Progress{Reason: reason, Message: fmt.Sprintf("Waiting for %s hooks to succeed (hooks: %s)", name, strings.Join(hooks, ","))}
	return true
}

// hooksOf are the keys of annotations that begin with prefix, whatever their values.
func hooksOf(m *clusterv1alpha1.Machine, prefix string) []string {
	var hooks []string
	for key := range m.Annotations {
		if strings.HasPrefix(key, prefix) {
			hooks = append(hooks, key)
		}
	}
	slices.Sort(hooks)
	return hooks
}

// deleteInfrastructure deletes the infrastructure, and waits until it is gone.
func (r *run) deleteInfrastructure(ctx context.Context) (bool, error) {
	return r.deleteExternal(ctx, &r.Infra, r.Machine.Spec.InfrastructureRef.Kind, clusterv1alpha1.WaitingForInfrastructureDeletionReason)
}

// deleteBootstrap deletes the bootstrap object, and waits until it is gone.
func (r *run) deleteBootstrap(ctx context.Context) (bool, error) {
	if !r.Machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		return true, nil
	}
	return r.deleteExternal(ctx, &r.Bootstrap, r.Machine.Spec.Bootstrap.ConfigRef.Kind, clusterv1alpha1.WaitingForBootstrapDeletionReason)
}

// deleteExternal deletes what the Machine refers to. It has ended when the server has said
// that there is no such object; what somebody else controls is not this Machine's and stays.
func (r *run) deleteExternal(ctx context.Context, e *step.External, kind, waiting string) (bool, error) {
	failed := func(err error) {
		r.Deleting = step.Progress{Reason: clusterv1alpha1.InternalErrorReason, Message: fmt.Sprintf("Failed to delete %s: %v", kind, err)}
	}
	switch {
	case e.Gone:
		return true, nil
	case e.Foreign:
		klog.FromContext(ctx).Info("An object that the Machine refers to is somebody else's and stays", "object", e.Describe())
		return true, nil
	case e.Err != nil:
		failed(e.Err)
		return false, nil // The step that reads it has returned the error.
	case e.Object == nil:
		return true, nil // The Machine refers to none.
	}
	r.Deleting = step.Progress{Reason: waiting, Message: fmt.Sprintf("Waiting for %s to be deleted", kind)}
	if e.Object.GetDeletionTimestamp() != nil {
		return false, nil
	}
	uid := e.Object.GetUID()
	err := e.Kind.Client.Resource(e.Kind.GVR).Namespace(e.Object.GetNamespace()).
		Delete(ctx, e.Object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	switch {
	case err == nil:
	case contract.IsGone(err), apierrors.IsConflict(err): // It went, or another came, before the cache was told.
		r.Again(controller.Conflict)
	default:
		err = fmt.Errorf("deleting %s: %w", e.Describe(), err)
		failed(err)
		return false, err
	}
	return false, nil
}

// complete lets go of the Machine.
func (r *run) complete(context.Context) (bool, error) {
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletionCompletedReason, Message: "Deletion completed"}
	r.Machine.Finalizers = slices.DeleteFunc(r.Machine.Finalizers, func(f string) bool { return f == clusterv1alpha1.MachineFinalizer })
	return true, nil
}
