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
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// drainNode drains the Node until it is empty, the infrastructure is being deleted, or the timeout has passed. It also
// drains other Nodes with the same provider ID, because their pods run on the same machine.
func (r *deletionRun) drainNode(ctx context.Context) (bool, error) {
	m := r.Machine
	_, excluded := m.Annotations[clusterv1alpha1.ExcludeNodeDrainingAnnotation]
	if excluded || !r.Infra.Stays() {
		return true, nil
	}
	started := r.startTime(&r.status().NodeDrainStartTime)
	if r.hasTimedOut(m.Spec.Deletion.NodeDrainTimeoutSeconds, started) {
		r.Events.Warning(r.State, "FailedDrainNode", "the drain timeout of Machine's node %q has expired; remaining pods are not evicted", r.nodeNames())
		return true, nil
	}
	headline := fmt.Sprintf("Drain not completed yet (started at %s):", started.UTC().Format(time.RFC3339))
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DrainingNodeReason, Message: headline}
	if waiting := r.nodesUnavailable(); waiting != "" {
		r.Deleting.Message += "\n* " + waiting
		return false, nil
	}
	results, err := forEachNode(r, started, func(in drain.Input) (drain.Result, error) { return r.Drain(ctx, r.Workload.Client(), in) })
	result := drain.Result{Done: true}
	for _, of := range results {
		result.Done = result.Done && of.Done
		result.Message = joinLines(result.Message, of.Message)
		result.Causes = append(result.Causes, of.Causes...)
	}
	switch {
	case errors.Is(err, workload.ErrBusy):
		r.Again(controller.Soon)
		return false, nil
	case err != nil:
		r.Deleting.Message = fmt.Sprintf("Error draining Node %s: %v", r.nodeNames(), err)
		r.Events.Warning(r.State, "FailedDrainNode", "error draining Machine's node %q: %v", r.nodeNames(), err)
		return false, fmt.Errorf("draining Node %s: %w", r.nodeNames(), err)
	case !result.Done:
		r.NotBefore = drain.Retry
		r.Again(drain.Retry)
		r.Deleting.Message = result.Message
		for _, cause := range result.Causes {
			r.Deleting.Causes = append(r.Deleting.Causes, string(cause))
		}
		return false, nil
	}
	r.Events.Normal(r.State, "SuccessfulDrainNode", "success draining Machine's node %q", r.nodeNames())
	return true, nil
}

// waitForVolumes waits until all volumes are detached from the Node. Disks that are still attached would be deleted
// with the machine.
func (r *deletionRun) waitForVolumes(ctx context.Context) (bool, error) {
	m := r.Machine
	_, excluded := m.Annotations[clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation]
	if excluded || !r.Infra.Stays() {
		return true, nil
	}
	started := r.startTime(&r.status().WaitForNodeVolumeDetachStartTime)
	if r.hasTimedOut(m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds, started) {
		r.Events.Warning(r.State, "FailedWaitForVolumeDetach", "the volume detach timeout of Machine's node %q has expired; the remaining volumes stay attached", r.nodeNames())
		return true, nil
	}
	headline := fmt.Sprintf("Waiting for Node volumes to be detached (started at %s)", started.UTC().Format(time.RFC3339))
	r.Deleting = step.Progress{Reason: clusterv1alpha1.WaitingForVolumeDetachReason, Message: headline}
	if waiting := r.nodesUnavailable(); waiting != "" {
		r.Deleting.Message += "\n* " + waiting
		return false, nil
	}
	results, err := forEachNode(r, started, func(in drain.Input) (detach.Result, error) { return r.Detach(ctx, r.Workload.Client(), in) })
	result := detach.Result{Done: true}
	for _, of := range results {
		result.Done = result.Done && of.Done
		result.Message = joinLines(result.Message, of.Message)
	}
	switch {
	case errors.Is(err, workload.ErrBusy):
		r.Again(controller.Soon)
		return false, nil
	case err != nil:
		r.Deleting.Message = fmt.Sprintf("Error waiting for volumes to be detached from Node %s: %v", r.nodeNames(), err)
		r.Events.Warning(r.State, "FailedWaitForVolumeDetach", "error waiting for node volumes detaching, Machine's node %q: %v", r.nodeNames(), err)
		return false, fmt.Errorf("waiting for the volumes of Node %s: %w", r.nodeNames(), err)
	case !result.Done:
		r.NotBefore = detach.Retry
		r.Again(detach.Retry)
		r.Deleting.Message = result.Message
		return false, nil
	}
	r.Events.Normal(r.State, "NodeVolumesDetached", "success waiting for node volumes detaching Machine's node %q", r.nodeNames())
	return true, nil
}

// forEachNode calls f, which lists objects of the workload cluster, for each Node of the machine. It holds a list slot
// meanwhile. An error for one Node does not prevent the calls for others.
func forEachNode[R any](r *deletionRun, started time.Time, f func(drain.Input) (R, error)) ([]R, error) {
	done, err := r.Workload.ListSlot()
	if err != nil {
		return nil, err
	}
	defer done()
	rules, err := r.DrainRules.MachineDrainRules(r.Machine.Namespace).List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("reading MachineDrainRules: %w", err)
	}
	var results []R
	var failed []error
	for _, name := range r.NodeNames() {
		result, err := f(drain.Input{
			Node: name, ProviderID: r.Machine.Spec.ProviderID,
			Machine: r.Machine.Labels, Cluster: r.Cluster.Labels, Rules: rules, Started: started, Now: r.Now,
		})
		results, failed = append(results, result), append(failed, err)
	}
	return results, errors.Join(failed...)
}

// nodeNames returns the names of the Machine's Nodes, separated by commas.
func (r *deletionRun) nodeNames() string { return strings.Join(r.NodeNames(), ", ") }

// joinLines appends the message for another Node.
func joinLines(text, more string) string { return strings.Trim(text+"\n"+more, "\n") }

// nodesUnavailable returns why the Nodes cannot be accessed now, or "".
func (r *deletionRun) nodesUnavailable() string {
	switch {
	case r.Workload == nil:
		return r.notConnectedMessage()
	case r.NodesUnread:
		r.Again(controller.Recheck)
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
