// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"
	"strings"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// maxVersions is the maximum number of versions in Counts.
const maxVersions = 100

// Counts contains the number of Machines, in total and by condition. It includes Machines that are being deleted.
type Counts struct {
	Replicas, Ready, Available, UpToDate int32
	// Versions are sorted by version.
	Versions []clusterv1alpha1.StatusVersion
}

// Count counts Machines.
func Count(all []*machine) Counts {
	c := Counts{Replicas: int32(len(all))}
	versions := map[string]int32{}
	for _, m := range all {
		for kind, n := range map[string]*int32{
			clusterv1alpha1.ReadyCondition: &c.Ready, clusterv1alpha1.AvailableCondition: &c.Available,
			clusterv1alpha1.MachineUpToDateCondition: &c.UpToDate,
		} {
			if conditions.IsTrue(m.Status.Conditions, kind) {
				*n++
			}
		}
		if m.Spec.Version != "" {
			versions[m.Spec.Version]++
		}
	}
	for version, n := range versions {
		c.Versions = append(c.Versions, clusterv1alpha1.StatusVersion{Version: version, Replicas: n})
	}
	slices.SortFunc(c.Versions, func(a, b clusterv1alpha1.StatusVersion) int { return strings.Compare(a.Version, b.Version) })
	c.Versions = c.Versions[:min(len(c.Versions), maxVersions)]
	return c
}

// IsAvailable reports whether a Machine is available and not being deleted.
func IsAvailable(m *machine) bool {
	return m.DeletionTimestamp == nil && conditions.IsTrue(m.Status.Conditions, clusterv1alpha1.AvailableCondition)
}
