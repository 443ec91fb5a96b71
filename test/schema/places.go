// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema contains the evaluated parts of an OpenAPI v3 schema.
type schema struct {
	Ref        string `json:"$ref"`
	AllOf      []*schema
	Items      *schema
	Properties map[string]*schema
	// Enum has the allowed values of the field.
	Enum []json.RawMessage
	// Additional is a schema, or true.
	Additional json.RawMessage `json:"additionalProperties"`
}

// Schemas are the schemas of one group, by the full names of their types.
type Schemas map[string]*schema

// Parse reads the schemas of an OpenAPI v3 document.
func Parse(document []byte) (Schemas, error) {
	var parsed struct {
		Components struct{ Schemas Schemas }
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, fmt.Errorf("reading an OpenAPI document: %w", err)
	}
	return parsed.Components.Schemas, nil
}

// of returns the schema of the type with a name, without its package.
func (all Schemas) of(name string) *schema {
	for full, s := range all {
		if strings.HasSuffix(full, "."+name) {
			return s
		}
	}
	return nil
}

// Place is a position at which a value can be set.
type Place struct {
	// Path is like .spec.volumes[].name; {} is an entry of a map.
	Path string
	// Allowed are the allowed values of the field, in JSON.
	Allowed []string
}

// Places are all lists, maps and leaves of a type, in the order of their names.
func (all Schemas) Places(name string) []Place {
	var found []Place
	s := all.of(name)
	if s == nil {
		return nil
	}
	for _, part := range slices.Sorted(maps.Keys(s.Properties)) {
		if part != "kind" && part != "apiVersion" {
			all.below(s.Properties[part], "."+part, func(p Place) { found = append(found, p) })
		}
	}
	return found
}

// below calls visit with every list, map and leaf at and below s.
func (all Schemas) below(s *schema, path string, visit func(Place)) {
	at := Place{Path: path}
	for len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
	for _, value := range s.Enum {
		at.Allowed = append(at.Allowed, string(value))
	}
	visit(at)
	if s.Ref != "" {
		s = all[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all.below(s.Properties[name], path+"."+name, visit)
	}
	if s.Items != nil {
		all.below(s.Items, path+"[]", visit)
	}
	if len(s.Additional) > 0 {
		visit(Place{Path: path + "{}"})
	}
}

// With returns document, in JSON, with value at path.
func With(document, path, value string) string {
	switch {
	case path == "":
		return value
	case strings.HasPrefix(path, "[]"):
		var items []json.RawMessage
		if json.Unmarshal([]byte(document), &items) != nil || len(items) == 0 {
			items = []json.RawMessage{nil}
		}
		return "[" + With(string(items[0]), path[2:], value) + "]"
	case strings.HasPrefix(path, "{}"):
		return `{"k":` + With("", path[2:], value) + `}`
	}
	name := path[1:]
	if end := strings.IndexAny(name, ".[{"); end >= 0 {
		name = name[:end]
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(document), &fields) // a value that is not an object is replaced by one
	var others strings.Builder
	for _, other := range slices.Sorted(maps.Keys(fields)) {
		if other != name {
			fmt.Fprintf(&others, "%q:%s,", other, fields[other])
		}
	}
	return fmt.Sprintf("{%s%q:%s}", &others, name, With(string(fields[name]), path[1+len(name):], value))
}

// Named reports whether message contains a name of the path: the name of the place or of its parent. If the place is
// part of the object itself, its own name is required.
func Named(message, path string) bool {
	parts := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]{}", r) })
	if len(parts) > 1 {
		parts = parts[1:]
	} else {
		parts = append(parts, "name") // of missing metadata
	}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(message, part) })
}
