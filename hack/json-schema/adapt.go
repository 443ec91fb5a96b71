// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// adapt converts an OpenAPI schema to a JSON schema in place and returns the definitions that it refers to. Unknown
// fields are errors in the JSON schema; the server would only return a warning.
func adapt(schema map[string]any) []string {
	var refers []string
	for key, value := range schema {
		// Only the server needs extensions for merging. The defaults {} and [] of objects and lists are of no use to
		// authors of manifests.
		if _, scalar := value.(string); strings.HasPrefix(key, "x-kubernetes-") || key == "default" && !scalar {
			delete(schema, key)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		refers = append(refers, strings.TrimPrefix(ref, prefix))
		if len(schema) > 1 {
			// JSON schema ignores keywords next to $ref, including the description.
			delete(schema, "$ref")
			schema["allOf"] = []any{map[string]any{"$ref": ref}}
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		if schema["additionalProperties"] == nil {
			schema["additionalProperties"] = false
		}
		for _, property := range properties {
			refers = append(refers, adapt(property.(map[string]any))...)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := schema[key].(map[string]any); ok {
			refers = append(refers, adapt(below)...)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for _, below := range list {
			if ref, ok := below.(map[string]any); ok {
				refers = append(refers, adapt(ref)...)
			}
		}
	}
	return refers
}
