// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/slipway-dev/slipway/pkg/generated/openapi"
)

func TestOpenAPI_DescribesEveryKindAndField(t *testing.T) {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(name) })
	explained := 0
	for name, definition := range definitions {
		if !strings.HasPrefix(name, "dev.slipway.") {
			continue
		}
		if definition.Schema.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for property, schema := range definition.Schema.Properties {
			if strings.HasSuffix(name, "List") && slices.Contains([]string{"metadata", "items"}, property) {
				continue
			}
			if schema.Description == "" {
				t.Errorf("%s.%s has no description", name, property)
			}
			explained++
		}
	}
	if explained == 0 {
		t.Fatal("no definition of this API was found")
	}
}

func TestOpenAPI_DescriptionsContainNoMarkers(t *testing.T) {
	for name, definition := range openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(name) }) {
		if !strings.HasPrefix(name, "dev.slipway.") {
			continue
		}
		if strings.Contains(definition.Schema.Description, "+k8s:") || strings.Contains(definition.Schema.Description, "+genclient") {
			t.Errorf("description of %s contains a marker: %q", name, definition.Schema.Description)
		}
	}
}
