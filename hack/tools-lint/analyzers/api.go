// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"golang.org/x/tools/go/analysis"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/conditions"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/registry"
	"sigs.k8s.io/kube-api-linter/pkg/config"
	_ "sigs.k8s.io/kube-api-linter/pkg/registration" // all checks of kube-api-linter
)

// apis are the packages of types that kube-api-linter looks at.
const apis = ours + "apis/"

// apiChecks are the checks of kube-api-linter for the types that clients see, by what
// Kubernetes asks of its own.
func apiChecks() ([]*analysis.Analyzer, error) {
	checks, err := registry.DefaultRegistry().InitializeLinters(config.Linters{
		Disable: []string{
			// It wants a pointer wherever validation does not forbid the zero value by a marker.
			// The zero value of an optional field means what its absence means, and is not
			// written; where it means something else the field is a pointer already. Another type
			// would change the messages that are stored, and the code of every client.
			"optionalfields",
			// It wants required fields left out when they are empty. They are written, so that who
			// reads an object sees that they are there.
			"requiredfields",
		},
	}, config.LintersConfig{
		"conditions": conditions.ConditionsConfig{
			// It wants conditions to be field 1 of every message: the numbers of fields that
			// are stored do not change.
			UseProtobuf: conditions.ConditionsUseProtobufIgnore,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("configuring kube-api-linter: %w", err)
	}
	for _, check := range checks {
		run := check.Run
		check.Run = func(pass *analysis.Pass) (any, error) {
			if path := pass.Pkg.Path(); !strings.HasPrefix(path, apis) || !strings.HasSuffix(path, "/v1alpha1") {
				return nil, nil
			}
			return run(pass)
		}
	}
	return checks, nil
}
