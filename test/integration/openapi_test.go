// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

// kubectl explain prints what is read here.
func TestEveryFieldIsExplained(t *testing.T) {
	config := framework.StartStandalone(t).Config()
	for _, group := range []string{"vm.slipway.dev", "instancetype.slipway.dev"} {
		var document struct {
			Components struct {
				Schemas map[string]struct {
					Description string
					Properties  map[string]struct{ Description string }
				}
			}
		}
		getJSON(t, config, "/openapi/v3/apis/"+group+"/v1alpha1", "application/json", &document)
		fields := 0
		for name, schema := range document.Components.Schemas {
			if !strings.Contains(name, "dev.slipway.") {
				continue
			}
			if schema.Description == "" {
				t.Errorf("%s has no description", name)
			}
			for field, property := range schema.Properties {
				fields++
				if property.Description == "" {
					t.Errorf("%s.%s has no description", name, field)
				}
			}
		}
		if fields < 100 {
			t.Errorf("%s has %d fields, want its whole API", group, fields)
		}
	}
}
