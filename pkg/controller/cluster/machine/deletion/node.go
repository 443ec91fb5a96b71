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

// nodeWork empties the Nodes of a machine in some way before the machine is deleted.
type nodeWork struct {
	// excluded is the annotation of a Machine without this work.
	excluded string
	started  **metav1.Time
	timeout  *int32
	do       func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)
	retry    time.Duration
	// reason and headline are of the condition. what completes the sentence "Error ... Node n".
	reason, headline, what string
	// succeeded and failed are reasons of Events, expired is the message about the end of its time.
	succeeded, failed, expired string
}

// drainNode empties the Node, as long as there is a machine under it and time for it. Other Nodes with the provider ID of
// the machine are emptied, too: their pods end with it.
func (r *run) drainNode(ctx context.Context) (bool, error) {
	return r.emptyNodes(ctx, &nodeWork{
		excluded: clusterv1alpha1.ExcludeNodeDrainingAnnotation,
		started:  &r.status().NodeDrainStartTime, timeout: r.Machine.Spec.Deletion.NodeDrainTimeoutSeconds, do: r.Drain, retry: drain.Retry,
		reason: clusterv1alpha1.DrainingNodeReason, headline: "Drain not completed yet (started at %s):", what: "draining",
		succeeded: "SuccessfulDrainNode", failed: "FailedDrainNode", expired: "the time for draining Machine's node %q has expired; remaining pods are not evicted",
	})
}

// waitForVolumes waits until no volume is attached to the Node: disks that still are would be
// deleted with the machine.
func (r *run) waitForVolumes(ctx context.Context) (bool, error) {
	return r.emptyNodes(ctx, &nodeWork{
		excluded: clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation,
		started:  &r.status().WaitForNodeVolumeDetachStartTime, timeout: r.Machine.Spec.Deletion.NodeVolumeDetachTimeoutSeconds, do: r.Detach, retry: detach.Retry,
		reason: clusterv1alpha1.WaitingForVolumeDetachReason, headline: "Waiting for Node volumes to be detached (started at %s)", what: "waiting for volumes to be detached from",
		succeeded: "NodeVolumesDetached", failed: "FailedWaitForVolumeDetach", expired: "the time for volumes of Machine's node %q to be detached has expired; the remaining volumes stay attached",
	})
}

// emptyNodes does w, and returns true when that is complete, excluded or its time has expired.
func (r *run) emptyNodes(ctx context.Context, w *nodeWork) (bool, error) {
	if _, excluded := r.Machine.Annotations[w.excluded]; excluded || !r.Infra.Stays() {
		return true, nil
	}
	started := r.began(w.started)
	if r.isOver(w.timeout, started) {
		r.Events.Warning(r.State, w.failed, w.expired, r.names())
		return true, nil
	}
	r.Deleting = step.Progress{Reason: w.reason, Message: fmt.Sprintf(w.headline, started.UTC().Format(time.RFC3339))}
	if waiting := r.unreadable(); waiting != "" {
		r.Deleting.Message += "\n* " + waiting
		return false, nil
	}
	result, err := r.eachNode(ctx, started, w.do)
	switch {
	case errors.Is(err, workload.ErrBusy):
		r.Again(controller.Soon)
		return false, nil
	case err != nil:
		r.Deleting.Message = fmt.Sprintf("Error %s Node %s: %v", w.what, r.names(), err)
		r.Events.Warning(r.State, w.failed, "error %s Machine's node %q: %v", w.what, r.names(), err)
		return false, fmt.Errorf("%s Node %s: %w", w.what, r.names(), err)
	case !result.Done:
		r.NotBefore = w.retry
		r.Again(w.retry)
		r.Deleting.Message = result.Message
		for _, cause := range result.Causes {
			r.Deleting.Causes = append(r.Deleting.Causes, string(cause))
		}
		return false, nil
	}
	r.Events.Normal(r.State, w.succeeded, "success %s Machine's node %q", w.what, r.names())
	return true, nil
}

// eachNode calls do, which reads lists of the workload cluster, for each Node of the machine within a slot, and joins the
// results. An error of one Node does not keep the others from being drained.
func (r *run) eachNode(ctx context.Context, started time.Time, do func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error)) (drain.Result, error) {
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

// names returns the names of the Nodes of the machine.
func (r *run) names() string { return strings.Join(r.NodeNames(), ", ") }

// unreadable returns why nothing can be done to the Nodes now, empty if it can.
func (r *run) unreadable() string {
	switch {
	case r.Workload == nil:
		return r.notConnected()
	case r.NodesUnread:
		r.Again(controller.Recheck)
		return "the Nodes of the workload cluster are being read"
	}
	return ""
}

// deleteNode deletes the Node, now that the machine under it is gone, and others with its provider ID. Its time counts
// from the first try.
func (r *run) deleteNode(ctx context.Context) (bool, error) {
	m := r.Machine
	started := r.began(&r.status().NodeDeletionStartTime)
	waiting := r.unreadable()
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
	if r.isOver(m.Spec.Deletion.NodeDeletionTimeoutSeconds, started) {
		klog.FromContext(ctx).Info("The time for deleting the Node is over, it is left", "node", r.names(), "because", why)
		r.Events.Warning(r.State, "FailedDeleteNode", "Machine's node %q is left: %s", r.names(), why)
		return true, nil
	}
	if waiting != "" {
		r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingNodeReason, Message: "Waiting to delete Node: " + waiting}
		return false, nil
	}
	r.Deleting = step.Progress{Reason: clusterv1alpha1.DeletingNodeReason, Message: fmt.Sprintf("Error deleting Node %s: %v", r.names(), err)}
	r.Events.Warning(r.State, "FailedDeleteNode", "error deleting Machine's node %q: %v", r.names(), err)
	return false, fmt.Errorf("deleting Node %s: %w", r.names(), err)
}

// removeNodes deletes the Nodes of a Machine, and no others that have their names by now.
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

// notConnected is what a condition says while there is no connection.
func (r *run) notConnected() string {
	return "the workload cluster cannot be reached: " + r.Unconnected.Error()
}
