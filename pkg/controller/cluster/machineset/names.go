// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slipway-dev/slipway/pkg/apis/cluster/naming"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

const (
	// randomLength is the length of the suffix of a Machine's name.
	randomLength = 5
	// maxTries is the maximum number of names that are tried.
	maxTries = 100
)

// newName returns an unused name for a new Machine of s. names are the existing Machines. The result is the same for
// the same arguments.
func newName(s *set, names []string, taken func(string) bool) (string, error) {
	template := s.Spec.MachineNaming.Template
	sorted := slices.Sorted(slices.Values(names))
	for try := range maxTries {
		random := members.HashString(fmt.Appendf(nil, "%s/%d/%d/%s", s.UID, s.Generation, try, strings.Join(sorted, "/")), randomLength)
		found, err := naming.MachineName(template, s.Spec.ClusterName, s.Name, random)
		if err != nil {
			return "", fmt.Errorf("machineNaming.template %q: %w", template, err)
		}
		if problems := validation.IsDNS1123Subdomain(found); len(problems) > 0 {
			return "", fmt.Errorf("machineNaming.template %q results in the invalid name %q: %s", template, found, strings.Join(problems, "; "))
		}
		if !slices.Contains(names, found) && !taken(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("machineNaming.template %q resulted in no unused name after %d attempts", template, maxTries)
}
