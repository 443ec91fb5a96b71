// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// reconcileUpdate says that a Machine is updated in place. Who does that sets the annotations:
// update extensions are not called.
func (s *scope) reconcileUpdate(context.Context) error {
	if isUpdating(s.machine) {
		s.updating = progress{reason: clusterv1alpha1.InPlaceUpdatingReason, message: "In-place update in progress"}
	}
	return nil
}

// isUpdating is true from when an update is begun until its hook has ended.
func isUpdating(m *machine) bool {
	_, begun := m.Annotations[clusterv1alpha1.UpdateInProgressAnnotation]
	return begun || slices.Contains(strings.Split(m.Annotations[clusterv1alpha1.PendingHooksAnnotation], ","), clusterv1alpha1.UpdateMachineHook)
}
