// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// stage is a step of a deletion.
type stage struct {
	name clusterv1alpha1.MachineDeletionStage
	// ofNode is true for what is only done where the workload cluster outlives the Machine.
	ofNode bool
	// do tells whether the stage has ended. With an error it has not.
	do func(*scope, context.Context) (bool, error)
}

// stages follow one another. Each begins when the one before it has ended, and none is gone
// back to: that it ended was persisted with the name of the next.
var stages = []stage{
	{clusterv1alpha1.MachineDeletionStagePreDrainHook, true, (*scope).waitForPreDrainHooks},
	{clusterv1alpha1.MachineDeletionStageDrain, true, (*scope).drainNode},
	{clusterv1alpha1.MachineDeletionStageVolumeDetach, true, (*scope).waitForVolumes},
	{clusterv1alpha1.MachineDeletionStagePreTerminateHook, false, (*scope).waitForPreTerminateHooks},
	{clusterv1alpha1.MachineDeletionStageInfrastructure, false, (*scope).deleteInfrastructure},
	{clusterv1alpha1.MachineDeletionStageBootstrap, false, (*scope).deleteBootstrap},
	{clusterv1alpha1.MachineDeletionStageNode, true, (*scope).deleteNode},
	{clusterv1alpha1.MachineDeletionStageCompleted, false, (*scope).complete},
}

// checkLogs is what a condition says of an error that only administrators can do something about.
const checkLogs = "please check controller logs for errors"

// reconcileDelete goes on with a deletion as far as it gets.
func (s *scope) reconcileDelete(ctx context.Context) error {
	s.deleting = progress{reason: clusterv1alpha1.DeletingReason, message: "Deletion started"}
	refused, err := s.refusal(ctx)
	if errors.Is(err, errNodeRead) {
		return nil // It is checked again.
	}
	if err != nil {
		s.deleting = progress{reason: clusterv1alpha1.InternalErrorReason, message: "Please check controller logs for errors"}
		return fmt.Errorf("finding out whether the Node may be deleted: %w", err)
	}
	if refused != "" {
		klog.FromContext(ctx).V(2).Info("The Node is left as it is", "node", s.machine.Status.NodeRef.Name, "because", refused)
	}
	for _, st := range stages[stageIndex(s.machine):] {
		if st.ofNode && refused != "" {
			continue
		}
		s.enter(st.name)
		if done, err := st.do(s, ctx); err != nil || !done {
			return err
		}
	}
	return nil
}

// stageIndex is the stage that a deletion is at.
func stageIndex(m *machine) int {
	if m.Status.Deletion == nil {
		return 0
	}
	return max(0, slices.IndexFunc(stages, func(st stage) bool { return st.name == m.Status.Deletion.Stage }))
}

// enter begins a stage, unless it has begun.
func (s *scope) enter(name clusterv1alpha1.MachineDeletionStage) {
	d := s.deletion()
	if d.Stage != name {
		d.Stage, d.StageStartTime = name, s.moment()
	}
}

// deletion is how far the deletion is.
func (s *scope) deletion() *clusterv1alpha1.MachineDeletionStatus {
	if s.machine.Status.Deletion == nil {
		s.machine.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{}
	}
	return s.machine.Status.Deletion
}

// moment is now as a status has it.
func (s *scope) moment() *metav1.Time {
	t := metav1.NewTime(s.now.UTC().Truncate(time.Second))
	return &t
}

// began keeps when something began, or sets it to now.
func (s *scope) began(at **metav1.Time) time.Time {
	if *at == nil {
		*at = s.moment()
	}
	return (*at).Time
}

// isOver tells whether a time of seconds has passed since started; nil and 0 never pass. It
// has the Machine looked at when it will have.
func (s *scope) isOver(seconds *int32, started time.Time) bool {
	if seconds == nil || *seconds <= 0 {
		return false
	}
	left := started.Add(time.Duration(*seconds) * time.Second).Sub(s.now)
	s.again(left)
	return left <= 0
}

// complete lets go of the Machine.
func (s *scope) complete(context.Context) (bool, error) {
	s.deleting = progress{reason: clusterv1alpha1.DeletionCompletedReason, message: "Deletion completed"}
	s.machine.Finalizers = slices.DeleteFunc(s.machine.Finalizers, func(f string) bool { return f == clusterv1alpha1.MachineFinalizer })
	return true, nil
}
