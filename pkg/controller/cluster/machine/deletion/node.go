// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// nodeTask describes a stage that is performed for each Node of a machine: the drain, or the wait for volumes.
type nodeTask struct {
	// excluded is the annotation that disables the task for a Machine.
	excluded string
	started  **metav1.Time
	timeout  *int32
	do       func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	retry    time.Duration
	// reason and headline are those of the condition. what is the activity in messages such as "Error draining Node n".
	reason, headline, what string
	// succeeded and failed are event reasons. expired is the message of the event after the timeout.
	succeeded, failed, expired string
}

// drainNode drains the Node until it is empty, the infrastructure is being deleted, or the timeout has passed. It also
// drains other Nodes with the same provider ID, because their pods run on the same machine.
func (r *deletionRun) drainNode(ctx context.Context) (bool, error) {
	return r.runNodeTask(ctx, &nodeTask{
		excluded: clusterv1alpha1.ExcludeNodeDrainingAnnotation,
		started:  &r.status().NodeDrainStartTime, timeout: r.Machine.Spec.Deletion.NodeDrainTimeoutSeconds, do: r.Drain, retry: drain.RetryInterval,
		reason: clusterv1alpha1.DrainingNodeReason, headline: "Drain not completed yet (started at %s):", what: "draining",
		succeeded: "SuccessfulDrainNode", failed: "FailedDrainNode", expired: "the drain timeout of Machine's node %q has expired; remaining pods are not evicted",
	})
}

// waitForVolumes waits until all volumes are detached from the Node. Disks that are still attached would be deleted
// with the machine.
func (r *deletionRun) waitForVolumes(ctx context.Context) (bool, error) {
	return r.runNodeTask(ctx, &nodeTask{
		excluded: clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation,
		started:  &r.status().WaitForNodeVolumeDetachStartTime, timeout: r.Machine.Spec.Deletion.NodeVolumeDetachTimeoutSeconds, do: r.Detach, retry: detach.Retry,
		reason: clusterv1alpha1.WaitingForVolumeDetachReason, headline: "Waiting for Node volumes to be detached (started at %s)", what: "waiting for volumes to be detached from",
		succeeded: "NodeVolumesDetached", failed: "FailedWaitForVolumeDetach", expired: "the volume detach timeout of Machine's node %q has expired; the remaining volumes stay attached",
	})
}

// runNodeTask performs w. It returns true if w is complete or excluded, or if its timeout has passed.
func (r *deletionRun) runNodeTask(ctx context.Context, w *nodeTask) (bool, error) {
	if _, excluded := r.Machine.Annotations[w.excluded]; excluded || !r.Infra.MayExist() {
		return true, nil
	}
	started := r.startTime(w.started)
	if r.hasTimedOut(w.timeout, started) {
		r.Events.Warning(r.State, w.failed, w.expired, r.nodeNames())
		return true, nil
	}
	r.Deleting = step.Progress{Reason: w.reason, Message: fmt.Sprintf(w.headline, started.UTC().Format(time.RFC3339))}
	if waiting := r.nodesUnavailable(); waiting != "" {
		r.Deleting.Message += "\n* " + waiting
		return false, nil
	}
	result, err := r.forEachNode(ctx, started, w.do)
	switch {
	case errors.Is(err, workload.ErrBusy):
		r.RequeueAfter(controller.Soon)
		return false, nil
	case err != nil:
		r.Deleting.Message = fmt.Sprintf("Error %s Node %s: %v", w.what, r.nodeNames(), err)
		r.Events.Warning(r.State, w.failed, "error %s Machine's node %q: %v", w.what, r.nodeNames(), err)
		return false, fmt.Errorf("%s Node %s: %w", w.what, r.nodeNames(), err)
	case !result.Done:
		r.IgnoreEventsFor = w.retry
		r.RequeueAfter(w.retry)
		r.Deleting.Message = result.Message
		for _, cause := range result.Causes {
			r.Deleting.Causes = append(r.Deleting.Causes, string(cause))
		}
		return false, nil
	}
	r.Events.Normal(r.State, w.succeeded, "success %s Machine's node %q", w.what, r.nodeNames())
	return true, nil
}

// forEachNode calls do, which lists objects of the workload cluster, for each Node of the machine, and joins the
// results. It holds a list slot during the calls. An error for one Node does not prevent the calls for others.
func (r *deletionRun) forEachNode(ctx context.Context, started time.Time, do func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)) (drain.Result, error) {
	done, err := r.Workload.ListSlot()
	if err != nil {
		return drain.Result{}, err
	}
	defer done()
	rules, err := r.DrainRules.MachineDrainRules(r.Machine.Namespace).List(labels.Everything())
	if err != nil {
		return drain.Result{}, fmt.Errorf("reading MachineDrainRules: %w", err)
	}
	all := drain.Result{Done: true}
	var failed []error
	for _, name := range r.NodeNames() {
		result, err := do(ctx, r.Workload.Client(), drain.Input{
			Node: name, ProviderID: r.Machine.Spec.ProviderID,
			Machine: r.Machine.Labels, Cluster: r.Cluster.Labels, Rules: rules, Started: started, Now: r.Now,
		})
		all.Done = all.Done && result.Done
		all.Message = strings.Trim(all.Message+"\n"+result.Message, "\n")
		all.Causes, failed = append(all.Causes, result.Causes...), append(failed, err)
	}
	return all, errors.Join(failed...)
}

// nodeNames returns the names of the Machine's Nodes, separated by commas.
func (r *deletionRun) nodeNames() string { return strings.Join(r.NodeNames(), ", ") }

// nodesUnavailable returns why the Nodes cannot be accessed now, or "".
func (r *deletionRun) nodesUnavailable() string {
	switch {
	case r.Workload == nil:
		return r.notConnectedMessage()
	case r.NodesUnread:
		r.RequeueAfter(controller.Recheck)
		return "the Nodes of the workload cluster are being read"
	}
	return ""
}

// deleteNode deletes the Machine's Node and other Nodes with its provider ID after the infrastructure was deleted. Its
// timeout starts at the first attempt.
func (r *deletionRun) deleteNode(ctx context.Context) (bool, error) {
	m := r.Machine
	started := r.startTime(&r.status().NodeDeletionStartTime)
	waiting := r.nodesUnavailable()
	var err error
	if waiting == "" {
		if err = removeNodes(ctx, r.Workload, r.State); err == nil {
			return true, nil
		}
		if step.IsNotConnected(err) {
			waiting = err.Error()
		}
	}
	why := cmp.Or(waiting, fmt.Sprint(err))
	if r.hasTimedOut(m.Spec.Deletion.NodeDeletionTimeoutSeconds, started) {
		klog.FromContext(ctx).Info("The timeout for deleting the Node has expired; the Node is not deleted", "node", r.nodeNames(), "reason", why)
		r.Events.Warning(r.State, "FailedDeleteNode", "Machine's node %q is not deleted, because the timeout has expired: %s", r.nodeNames(), why)
		return true, nil
	}
	if waiting != "" {
		r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingNodeReason, Message: "Waiting to delete Node: " + waiting}
		return false, nil
	}
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingNodeReason, Message: fmt.Sprintf("Error deleting Node %s: %v", r.nodeNames(), err)}
	r.Events.Warning(r.State, "FailedDeleteNode", "error deleting Machine's node %q: %v", r.nodeNames(), err)
	return false, fmt.Errorf("deleting Node %s: %w", r.nodeNames(), err)
}

// removeNodes deletes the Nodes of a Machine. It does not delete Nodes of other machines that reuse their names.
func removeNodes(ctx context.Context, w step.Workload, s *step.State) error {
	var failed []error
	for _, name := range s.NodeNames() {
		node, err := drain.ReadNode(ctx, w.Client(), drain.Input{Node: name, ProviderID: s.Machine.Spec.ProviderID})
		if err == nil && node != nil {
			err = w.Client().CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// notConnectedMessage returns the message for a missing connection.
func (r *deletionRun) notConnectedMessage() string {
	return "the workload cluster cannot be reached: " + r.Unconnected.Error()
}
