// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"errors"
	"fmt"
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

// drainNode empties the Node, as long as there is a machine under it and time for it.
func (r *run) drainNode(ctx context.Context) (bool, error) {
	m := r.Machine
	_, excluded := m.Annotations[clusterv1alpha1.ExcludeNodeDrainingAnnotation]
	if excluded || !r.Infra.Stays() {
		return true, nil
	}
	started := r.began(&r.status().NodeDrainStartTime)
	if r.isOver(m.Spec.Deletion.NodeDrainTimeoutSeconds, started) {
		r.Events.Warning(r.State, "FailedDrainNode", "the time for draining Machine's node %q is over, what is left on it is left", m.Status.NodeRef.Name)
		return true, nil
	}
	headline := fmt.Sprintf("Drain not completed yet (started at %s):", started.UTC().Format(time.RFC3339))
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DrainingNodeReason, Message: headline}
	if r.Workload == nil {
		r.Deleting.Message += "\n* " + r.notConnected()
		return false, nil
	}
	result, err := read(r, started, func(in drain.Input) (drain.Result, error) { return r.Drain(ctx, r.Workload.Client(), in) })
	switch {
	case errors.Is(err, workload.ErrBusy):
		r.Again(controller.Soon)
		return false, nil
	case err != nil:
		r.Deleting.Message = "Error draining Node, " + checkLogs
		r.Events.Warning(r.State, "FailedDrainNode", "error draining Machine's node %q: %v", m.Status.NodeRef.Name, err)
		return false, fmt.Errorf("draining Node %s: %w", m.Status.NodeRef.Name, err)
	case !result.Done:
		r.NotBefore = drain.Retry
		r.Again(drain.Retry)
		r.Deleting.Message = result.Message
		for _, cause := range result.Causes {
			r.Deleting.Causes = append(r.Deleting.Causes, string(cause))
		}
		return false, nil
	}
	r.Events.Normal(r.State, "SuccessfulDrainNode", "success draining Machine's node %q", m.Status.NodeRef.Name)
	return true, nil
}

// waitForVolumes waits until no volume is attached to the Node: disks that still are would be
// deleted with the machine.
func (r *run) waitForVolumes(ctx context.Context) (bool, error) {
	m := r.Machine
	_, excluded := m.Annotations[clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation]
	if excluded || !r.Infra.Stays() {
		return true, nil
	}
	started := r.began(&r.status().WaitForNodeVolumeDetachStartTime)
	if r.isOver(m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds, started) {
		r.Events.Warning(r.State, "FailedWaitForVolumeDetach", "the time for volumes of Machine's node %q to be detached is over, what is attached is left", m.Status.NodeRef.Name)
		return true, nil
	}
	headline := fmt.Sprintf("Waiting for Node volumes to be detached (started at %s)", started.UTC().Format(time.RFC3339))
	r.Deleting = step.Progress{Reason: clusterv1alpha1.WaitingForVolumeDetachReason, Message: headline}
	if r.Workload == nil {
		r.Deleting.Message += "\n* " + r.notConnected()
		return false, nil
	}
	result, err := read(r, started, func(in drain.Input) (detach.Result, error) { return r.Detach(ctx, r.Workload.Client(), in) })
	switch {
	case errors.Is(err, workload.ErrBusy):
		r.Again(controller.Soon)
		return false, nil
	case err != nil:
		r.Deleting.Message = "Error waiting for volumes to be detached from Node, " + checkLogs
		r.Events.Warning(r.State, "FailedWaitForVolumeDetach", "error waiting for node volumes detaching, Machine's node %q: %v", m.Status.NodeRef.Name, err)
		return false, fmt.Errorf("waiting for the volumes of Node %s: %w", m.Status.NodeRef.Name, err)
	case !result.Done:
		r.NotBefore = detach.Retry
		r.Again(detach.Retry)
		r.Deleting.Message = result.Message
		return false, nil
	}
	r.Events.Normal(r.State, "NodeVolumesDetached", "success waiting for node volumes detaching Machine's node %q", m.Status.NodeRef.Name)
	return true, nil
}

// read calls f, which reads lists of the workload cluster, with what drain and detach need and within a slot.
func read[R any](r *run, started time.Time, f func(drain.Input) (R, error)) (result R, err error) {
	done, err := r.Workload.ListSlot()
	if err != nil {
		return result, err
	}
	defer done()
	rules, err := r.DrainRules.MachineDrainRules(r.Machine.Namespace).List(labels.Everything())
	if err != nil {
		return result, fmt.Errorf("reading MachineDrainRules: %w", err)
	}
	return f(drain.Input{
		Node: r.Machine.Status.NodeRef.Name, ProviderID: r.Machine.Spec.ProviderID,
		Machine: r.Machine.Labels, Cluster: r.Cluster.Labels, Rules: rules, Started: started, Now: r.Now,
	})
}

// deleteNode deletes the Node, now that the machine under it is gone. Its time counts from the
// first try.
func (r *run) deleteNode(ctx context.Context) (bool, error) {
	m := r.Machine
	started := r.began(&r.status().NodeDeletionStartTime)
	err := r.Unconnected
	if r.Workload != nil {
		err = removeNode(ctx, r.Workload, m)
	}
	if err == nil {
		return true, nil
	}
	if r.isOver(m.Spec.Deletion.NodeDeletionTimeoutSeconds, started) {
		klog.FromContext(ctx).Error(err, "The time for deleting the Node is over, it is left", "node", m.Status.NodeRef.Name)
		r.Events.Warning(r.State, "FailedDeleteNode", "Machine's node %q is left: %v", m.Status.NodeRef.Name, err)
		return true, nil
	}
	if step.IsNotConnected(err) {
		r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingNodeReason, Message: "Waiting to delete Node: " + r.notConnected()}
		return false, nil
	}
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingNodeReason, Message: "Error deleting Node, " + checkLogs}
	r.Events.Warning(r.State, "FailedDeleteNode", "error deleting Machine's node %q: %v", m.Status.NodeRef.Name, err)
	return false, fmt.Errorf("deleting Node %s: %w", m.Status.NodeRef.Name, err)
}

// removeNode deletes the Node of a Machine, and no other that has its name by now.
func removeNode(ctx context.Context, w step.Workload, m *clusterv1alpha1.Machine) error {
	client := w.Client()
	node, err := drain.ReadNode(ctx, client, drain.Input{Node: m.Status.NodeRef.Name, ProviderID: m.Spec.ProviderID})
	if err != nil || node == nil {
		return err
	}
	err = client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// notConnected is what a condition says while there is no connection.
func (r *run) notConnected() string {
	return "the workload cluster cannot be reached: " + r.Unconnected.Error()
}
