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
	// randomLength is how many letters tell Machines of a set apart.
	randomLength = 5
	// maxTries bounds how often another name is looked for.
	maxTries = 100
)

// name is that of a new Machine of s beside the names that there are, none of which it takes.
// It is the same when the set and the names are.
func name(s *set, names []string, taken func(string) bool) (string, error) {
	template := s.Spec.MachineNaming.Template
	sorted := slices.Sorted(slices.Values(names))
	for try := range maxTries {
		random := members.Letters(fmt.Appendf(nil, "%s/%d/%d/%s", s.UID, s.Generation, try, strings.Join(sorted, "/")), randomLength)
		found, err := naming.Machine(template, s.Spec.ClusterName, s.Name, random)
		if err != nil {
			return "", fmt.Errorf("machineNaming.template %q: %w", template, err)
		}
		if problems := validation.IsDNS1123Subdomain(found); len(problems) > 0 {
			return "", fmt.Errorf("machineNaming.template %q gives the name %q: %s", template, found, strings.Join(problems, "; "))
		}
		if !slices.Contains(names, found) && !taken(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("machineNaming.template %q gives no name that is free after %d tries", template, maxTries)
}
