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

// apis is the path prefix of the packages that kube-api-linter checks.
const apis = ours + "apis/"

// apiChecks returns the checks of kube-api-linter for API types.
func apiChecks() ([]*analysis.Analyzer, error) {
	checks, err := registry.DefaultRegistry().InitializeLinters(config.Linters{
		Disable: []string{
			// This check requires a pointer unless a marker forbids the zero value. In this API an optional field
			// without a pointer treats the zero value as absent and omits it. Fields where zero has another meaning
			// are pointers. Changing a type would change stored messages and the code of every client.
			"optionalfields",
			// This check requires that empty required fields are omitted. They are written so that they are visible
			// in the object.
			"requiredfields",
		},
	}, config.LintersConfig{
		"conditions": conditions.ConditionsConfig{
			// This check requires that conditions are field 1 of every message. Field numbers of stored messages must
			// not change.
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
