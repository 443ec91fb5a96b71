// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion deletes a Machine and its objects in order. A deletion consists of stages. The current stage and its
// start are persisted, and a completed stage is not repeated. An object that could not be read does not count as
// deleted. The stages drain and detach are in packages of their own.
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

// Reconciler continues the deletion of Machines.
type Reconciler struct {
	External *external.Reconciler
	// Members returns the Machines of a Cluster.
	Members    func(cluster types.NamespacedName) []*clusterv1alpha1.Machine
	DrainRules clusterlisters.MachineDrainRuleLister
	// Drain and Detach are drain.Drain and detach.Check.
	Drain  func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	Detach func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	Events step.Events
}

// deletionRun is one reconcile of a Machine that is being deleted.
type deletionRun struct {
	*Reconciler
	*step.State
	step.Report
}

// stage is a stage of a deletion.
type stage struct {
	name clusterv1alpha1.MachineDeletionStage
	// ofNode is true for stages that are skipped if the workload cluster does not outlive the Machine.
	ofNode bool
	// do performs the stage and reports whether it is complete. It is not complete if do returns an error.
	do func(*deletionRun, context.Context) (bool, error)
}

// stages are the stages in their order. A stage begins when the previous one is complete. Persisting its name also
// records that the previous one is complete.
var stages = []stage{
	{clusterv1alpha1.MachineDeletionStagePreDrainHook, true, (*deletionRun).waitForPreDrainHooks},
	{clusterv1alpha1.MachineDeletionStageDrain, true, (*deletionRun).drainNode},
	{clusterv1alpha1.MachineDeletionStageVolumeDetach, true, (*deletionRun).waitForVolumes},
	{clusterv1alpha1.MachineDeletionStagePreTerminateHook, false, (*deletionRun).waitForPreTerminateHooks},
	{clusterv1alpha1.MachineDeletionStageInfrastructure, false, (*deletionRun).deleteInfrastructure},
	{clusterv1alpha1.MachineDeletionStageBootstrap, false, (*deletionRun).deleteBootstrap},
	{clusterv1alpha1.MachineDeletionStageNode, true, (*deletionRun).deleteNode},
	{clusterv1alpha1.MachineDeletionStageCompleted, false, (*deletionRun).complete},
}

// Reconcile continues the deletion of a Machine as far as possible.
func (d *Reconciler) Reconcile(ctx context.Context, s *step.State) (step.Report, error) {
	r := &deletionRun{Reconciler: d, State: s}
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingReason, Message: "Deletion started"}
	err := r.reconcile(ctx)
	return r.Report, err
}

func (r *deletionRun) reconcile(ctx context.Context) error {
	refused, err := r.SkipNodeReason(ctx, r.State, &r.Report)
	if errors.Is(err, errReadingNode) {
		return nil // Reconciled again.
	}
	if err != nil {
		err = fmt.Errorf("checking whether the Node may be deleted: %w", err)
		r.Deleting = step.Progress{Reason: clusterv1alpha1.InternalErrorReason, Message: err.Error()}
		return err
	}
	if refused != "" {
		klog.FromContext(ctx).V(2).Info("Not draining and deleting the Node", "node", r.Machine.Status.NodeRef.Name, "reason", refused)
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

// stageIndex returns the index of the current stage.
func stageIndex(m *clusterv1alpha1.Machine) int {
	if m.Status.Deletion == nil {
		return 0
	}
	return max(0, slices.IndexFunc(stages, func(st stage) bool { return st.name == m.Status.Deletion.Stage }))
}

// enter starts a stage unless it has already started.
func (r *deletionRun) enter(name clusterv1alpha1.MachineDeletionStage) {
	d := r.status()
	if d.Stage != name {
		d.Stage, d.StageStartTime = name, r.Timestamp()
	}
}

// status returns the deletion status of the Machine. It creates it if necessary.
func (r *deletionRun) status() *clusterv1alpha1.MachineDeletionStatus {
	if r.Machine.Status.Deletion == nil {
		r.Machine.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{}
	}
	return r.Machine.Status.Deletion
}

// startTime returns the start time at points to. It sets it to now if it is nil.
func (r *deletionRun) startTime(at **metav1.Time) time.Time {
	if *at == nil {
		*at = r.Timestamp()
	}
	return (*at).Time
}

// hasTimedOut reports whether a timeout has passed since started, and otherwise requests a reconcile for that time.
// Without a timeout (nil or 0) it returns false.
func (r *deletionRun) hasTimedOut(seconds *int32, started time.Time) bool {
	if seconds == nil || *seconds <= 0 {
		return false
	}
	left := started.Add(time.Duration(*seconds) * time.Second).Sub(r.Now)
	r.RequeueAfter(left)
	return left <= 0
}

// waitForPreDrainHooks waits until all pre-drain hooks are removed. The removal of a hook is an event, so it does not
// poll.
func (r *deletionRun) waitForPreDrainHooks(context.Context) (bool, error) {
	waiting := r.waitForHooks(clusterv1alpha1.PreDrainDeleteHookAnnotationPrefix, clusterv1alpha1.WaitingForPreDrainHookReason, "pre-drain")
	if waiting {
		r.startTime(&r.status().WaitForPreDrainHookStartTime)
	}
	return !waiting, nil
}

// waitForPreTerminateHooks waits until all pre-terminate hooks are removed.
func (r *deletionRun) waitForPreTerminateHooks(context.Context) (bool, error) {
	waiting := r.waitForHooks(clusterv1alpha1.PreTerminateDeleteHookAnnotationPrefix, clusterv1alpha1.WaitingForPreTerminateHookReason, "pre-terminate")
	if waiting {
		r.startTime(&r.status().WaitForPreTerminateHookStartTime)
	}
	return !waiting, nil
}

// waitForHooks reports whether the Machine has annotations with a prefix, and sets the progress.
func (r *deletionRun) waitForHooks(prefix, reason, name string) bool {
	hooks := hooksOf(r.Machine, prefix)
	if len(hooks) == 0 {
		return false
	}
	r.Deleting = step.Progress{Reason: reason, Message: fmt.Sprintf("Waiting for %s hooks to succeed (hooks: %s)", name, strings.Join(hooks, ","))}
	return true
}

// hooksOf returns the keys of the annotations with a prefix, sorted. Their values are ignored.
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

// deleteInfrastructure deletes the infrastructure object and waits for its deletion.
func (r *deletionRun) deleteInfrastructure(ctx context.Context) (bool, error) {
	return r.deleteExternal(ctx, &r.Infra, r.Machine.Spec.InfrastructureRef.Kind, clusterv1alpha1.WaitingForInfrastructureDeletionReason)
}

// deleteBootstrap deletes the bootstrap object and waits for its deletion.
func (r *deletionRun) deleteBootstrap(ctx context.Context) (bool, error) {
	if !r.Machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		return true, nil
	}
	return r.deleteExternal(ctx, &r.Bootstrap, r.Machine.Spec.Bootstrap.ConfigRef.Kind, clusterv1alpha1.WaitingForBootstrapDeletionReason)
}

// deleteExternal deletes a referenced object. It is complete when the server reports that the object does not exist. An
// object that is controlled by another owner is not deleted.
func (r *deletionRun) deleteExternal(ctx context.Context, e *step.External, kind, waiting string) (bool, error) {
	failed := func(err error) {
		r.Deleting = step.Progress{Reason: clusterv1alpha1.InternalErrorReason, Message: fmt.Sprintf("Failed to delete %s: %v", kind, err)}
	}
	switch {
	case e.NotFound:
		return true, nil
	case e.HasOtherController:
		klog.FromContext(ctx).Info("Not deleting an object that is controlled by another owner", "object", e.Describe())
		return true, nil
	case e.Err != nil:
		failed(e.Err)
		return false, nil // The step that reads the object has returned the error.
	case e.Object == nil:
		return true, nil // The Machine has no reference.
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
	case contract.IsNotFound(err), apierrors.IsConflict(err): // The object was deleted or recreated, and the cache is stale.
		r.RequeueAfter(controller.Conflict)
	default:
		err = fmt.Errorf("deleting %s: %w", e.Describe(), err)
		failed(err)
		return false, err
	}
	return false, nil
}

// complete removes the finalizer of the Machine.
func (r *deletionRun) complete(context.Context) (bool, error) {
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletionCompletedReason, Message: "Deletion completed"}
	r.Machine.Finalizers = slices.DeleteFunc(r.Machine.Finalizers, func(f string) bool { return f == clusterv1alpha1.MachineFinalizer })
	return true, nil
}
