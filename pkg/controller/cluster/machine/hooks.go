// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// waitForPreDrainHooks waits until nobody keeps the Node from being drained. Nothing is looked
// at meanwhile: that a hook is removed is an event.
func (s *scope) waitForPreDrainHooks(context.Context) (bool, error) {
	waiting := s.waitForHooks(clusterv1alpha1.PreDrainDeleteHookAnnotationPrefix, clusterv1alpha1.WaitingForPreDrainHookReason, "pre-drain")
	if waiting {
		s.began(&s.deletion().WaitForPreDrainHookStartTime)
	}
	return !waiting, nil
}

// waitForPreTerminateHooks waits until nobody keeps the infrastructure from being deleted.
func (s *scope) waitForPreTerminateHooks(context.Context) (bool, error) {
	waiting := s.waitForHooks(clusterv1alpha1.PreTerminateDeleteHookAnnotationPrefix, clusterv1alpha1.WaitingForPreTerminateHookReason, "pre-terminate")
	if waiting {
		s.began(&s.deletion().WaitForPreTerminateHookStartTime)
	}
	return !waiting, nil
}

// waitForHooks is true while the Machine has annotations that begin with prefix.
func (s *scope) waitForHooks(prefix, reason, name string) bool {
	hooks := hooksOf(s.machine, prefix)
	if len(hooks) == 0 {
		return false
	}
	s.deleting = progress{reason: reason, message: fmt.Sprintf("Waiting for %s hooks to succeed (hooks: %s)", name, strings.Join(hooks, ","))}
	return true
}

// hooksOf are the keys of annotations that begin with prefix, whatever their values.
func hooksOf(m *machine, prefix string) []string {
	var hooks []string
	for key := range m.Annotations {
		if strings.HasPrefix(key, prefix) {
			hooks = append(hooks, key)
		}
	}
	slices.Sort(hooks)
	return hooks
}
