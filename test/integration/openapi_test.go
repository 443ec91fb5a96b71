// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

// kubectl explain prints these descriptions.
func TestOpenAPI_DescribesEveryField(t *testing.T) {
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

// kubectl apply computes a strategic merge patch if one of the two documents has it, and cannot apply one itself to
// a type that it is not compiled with: --dry-run=client failed.
func TestOpenAPI_DoesNotPublishStrategicMergePatch(t *testing.T) {
	config := framework.StartStandalone(t).Config()
	var v2 struct {
		Paths map[string]struct{ Patch *struct{ Consumes []string } }
	}
	getJSON(t, config, "/openapi/v2", "application/json", &v2)
	patched := 0
	for path, item := range v2.Paths {
		if item.Patch == nil {
			continue
		}
		patched++
		if slices.Contains(item.Patch.Consumes, asStrat) || !slices.Contains(item.Patch.Consumes, asMerge) || !slices.Contains(item.Patch.Consumes, asApply) {
			t.Errorf("PATCH of %s in version 2 takes %q", path, item.Patch.Consumes)
		}
	}
	if patched < 20 {
		t.Errorf("%d paths of version 2 have PATCH, want those of all kinds", patched)
	}
	for _, group := range []string{"vm.slipway.dev", "instancetype.slipway.dev", "cluster.slipway.dev"} {
		var v3 struct {
			Paths map[string]struct {
				Patch *struct {
					RequestBody struct{ Content map[string]any }
				}
			}
		}
		getJSON(t, config, "/openapi/v3/apis/"+group+"/v1alpha1", "application/json", &v3)
		patched := 0
		for path, item := range v3.Paths {
			if item.Patch == nil {
				continue
			}
			patched++
			content := item.Patch.RequestBody.Content
			if content[asStrat] != nil || content[asMerge] == nil || content[asApply] == nil {
				t.Errorf("PATCH of %s in version 3 takes %q", path, slices.Sorted(maps.Keys(content)))
			}
		}
		if patched == 0 {
			t.Errorf("no path of %s has PATCH", group)
		}
	}
}
