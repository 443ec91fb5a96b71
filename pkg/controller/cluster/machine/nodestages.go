// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

// drainNode empties the Node, as long as there is a machine under it and time for it.
func (s *scope) drainNode(ctx context.Context) (bool, error) {
	m := s.machine
	_, excluded := m.Annotations[clusterv1alpha1.ExcludeNodeDrainingAnnotation]
	if excluded || !s.infra.stays() {
		return true, nil
	}
	started := s.began(&s.deletion().NodeDrainStartTime)
	if s.isOver(m.Spec.Deletion.NodeDrainTimeoutSeconds, started) {
		s.warn("FailedDrainNode", "the time for draining Machine's node %q is over, what is left on it is left", m.Status.NodeRef.Name)
		return true, nil
	}
	headline := fmt.Sprintf("Drain not completed yet (started at %s):", started.UTC().Format(time.RFC3339))
	s.deleting = progress{reason: clusterv1alpha1.DrainingNodeReason, message: headline}
	if s.workload == nil {
		s.deleting.message += "\n* " + s.notConnected()
		return false, nil
	}
	result, err := read(s, started, func(in drain.Input) (drain.Result, error) { return s.drain(ctx, s.workload.Client(), in) })
	switch {
	case errors.Is(err, workload.ErrBusy):
		s.again(controller.Soon)
		return false, nil
	case err != nil:
		s.deleting.message = "Error draining Node, " + checkLogs
		s.warn("FailedDrainNode", "error draining Machine's node %q: %v", m.Status.NodeRef.Name, err)
		return false, fmt.Errorf("draining Node %s: %w", m.Status.NodeRef.Name, err)
	case !result.Done:
		s.notBefore = drain.Retry
		s.again(drain.Retry)
		s.deleting.message = result.Message
		for _, cause := range result.Causes {
			s.deleting.causes = append(s.deleting.causes, string(cause))
		}
		return false, nil
	}
	s.event("SuccessfulDrainNode", "success draining Machine's node %q", m.Status.NodeRef.Name)
	return true, nil
}

// waitForVolumes waits until no volume is attached to the Node: disks that still are would be
// deleted with the machine.
func (s *scope) waitForVolumes(ctx context.Context) (bool, error) {
	m := s.machine
	_, excluded := m.Annotations[clusterv1alpha1.ExcludeWaitForNodeVolumeDetachAnnotation]
	if excluded || !s.infra.stays() {
		return true, nil
	}
	started := s.began(&s.deletion().WaitForNodeVolumeDetachStartTime)
	if s.isOver(m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds, started) {
		s.warn("FailedWaitForVolumeDetach", "the time for volumes of Machine's node %q to be detached is over, what is attached is left", m.Status.NodeRef.Name)
		return true, nil
	}
	headline := fmt.Sprintf("Waiting for Node volumes to be detached (started at %s)", started.UTC().Format(time.RFC3339))
	s.deleting = progress{reason: clusterv1alpha1.WaitingForVolumeDetachReason, message: headline}
	if s.workload == nil {
		s.deleting.message += "\n* " + s.notConnected()
		return false, nil
	}
	result, err := read(s, started, func(in drain.Input) (detach.Result, error) { return s.detach(ctx, s.workload.Client(), in) })
	switch {
	case errors.Is(err, workload.ErrBusy):
		s.again(controller.Soon)
		return false, nil
	case err != nil:
		s.deleting.message = "Error waiting for volumes to be detached from Node, " + checkLogs
		s.warn("FailedWaitForVolumeDetach", "error waiting for node volumes detaching, Machine's node %q: %v", m.Status.NodeRef.Name, err)
		return false, fmt.Errorf("waiting for the volumes of Node %s: %w", m.Status.NodeRef.Name, err)
	case !result.Done:
		s.notBefore = detach.Retry
		s.again(detach.Retry)
		s.deleting.message = result.Message
		return false, nil
	}
	s.event("NodeVolumesDetached", "success waiting for node volumes detaching Machine's node %q", m.Status.NodeRef.Name)
	return true, nil
}

// read calls f, which reads lists of the workload cluster, with what drain and detach need and within a slot.
func read[R any](s *scope, started time.Time, f func(drain.Input) (R, error)) (result R, err error) {
	done, err := s.workload.ListSlot()
	if err != nil {
		return result, err
	}
	defer done()
	rules, err := s.drainRules.MachineDrainRules(s.machine.Namespace).List(labels.Everything())
	if err != nil {
		return result, fmt.Errorf("reading MachineDrainRules: %w", err)
	}
	return f(drain.Input{
		Node: s.machine.Status.NodeRef.Name, ProviderID: s.machine.Spec.ProviderID,
		Machine: s.machine.Labels, Cluster: s.cluster.Labels, Rules: rules, Started: started, Now: s.now,
	})
}

// deleteNode deletes the Node, now that the machine under it is gone. Its time counts from the
// first try.
func (s *scope) deleteNode(ctx context.Context) (bool, error) {
	m := s.machine
	started := s.began(&s.deletion().NodeDeletionStartTime)
	err := s.unconnected
	if s.workload != nil {
		err = removeNode(ctx, s.workload, m)
	}
	if err == nil {
		return true, nil
	}
	if s.isOver(m.Spec.Deletion.NodeDeletionTimeoutSeconds, started) {
		klog.FromContext(ctx).Error(err, "The time for deleting the Node is over, it is left", "node", m.Status.NodeRef.Name)
		s.warn("FailedDeleteNode", "Machine's node %q is left: %v", m.Status.NodeRef.Name, err)
		return true, nil
	}
	if isNotConnected(err) {
		s.deleting = progress{reason: clusterv1alpha1.DeletingNodeReason, message: "Waiting to delete Node: " + s.notConnected()}
		return false, nil
	}
	s.deleting = progress{reason: clusterv1alpha1.DeletingNodeReason, message: "Error deleting Node, " + checkLogs}
	s.warn("FailedDeleteNode", "error deleting Machine's node %q: %v", m.Status.NodeRef.Name, err)
	return false, fmt.Errorf("deleting Node %s: %w", m.Status.NodeRef.Name, err)
}

// removeNode deletes the Node of a Machine, and no other that has its name by now.
func removeNode(ctx context.Context, w Workload, m *machine) error {
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

func (s *scope) event(reason, note string, args ...any) {
	s.emit(corev1.EventTypeNormal, reason, note, args...)
}

func (s *scope) warn(reason, note string, args ...any) {
	s.emit(corev1.EventTypeWarning, reason, note, args...)
}
