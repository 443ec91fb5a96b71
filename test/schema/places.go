// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// schema is what is looked at of one in OpenAPI v3.
type schema struct {
	Ref        string `json:"$ref"`
	AllOf      []*schema
	Items      *schema
	Properties map[string]*schema
	// Additional is a schema, or true.
	Additional json.RawMessage `json:"additionalProperties"`
}

// schemas are those of one group.
type schemas map[string]*schema

// schemas reads those of a group from the server.
func (s *server) schemas(group string) schemas {
	s.t.Helper()
	var document struct {
		Components struct{ Schemas schemas }
	}
	answer := s.ask(request{method: http.MethodGet, path: "/openapi/v3/apis/" + group + "/v1alpha1"})
	if err := json.Unmarshal(answer.body, &document); err != nil {
		s.t.Fatalf("the schema of %s: %v", group, err)
	}
	return document.Components.Schemas
}

// of is the schema of the type with a name, without its package.
func (all schemas) of(name string) *schema {
	for full, s := range all {
		if strings.HasSuffix(full, "."+name) {
			return s
		}
	}
	return nil
}

// places are the paths of all lists, maps and leaves of a type, as .spec.volumes[].name;
// {} is an entry of a map.
func (all schemas) places(name string) []string {
	var found []string
	s := all.of(name)
	if s == nil {
		return nil
	}
	for _, part := range slices.Sorted(maps.Keys(s.Properties)) {
		if part != "kind" && part != "apiVersion" {
			all.below(s.Properties[part], "."+part, func(path string) { found = append(found, path) })
		}
	}
	return found
}

// below calls visit with every list, map and leaf at and below s.
func (all schemas) below(s *schema, path string, visit func(path string)) {
	visit(path)
	for len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
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
		visit(path + "{}")
	}
}

// with is document, in JSON, with value at path.
func with(document, path, value string) string {
	switch {
	case path == "":
		return value
	case strings.HasPrefix(path, "[]"):
		var items []json.RawMessage
		if json.Unmarshal([]byte(document), &items) != nil || len(items) == 0 {
			items = []json.RawMessage{nil}
		}
		return "[" + with(string(items[0]), path[2:], value) + "]"
	case strings.HasPrefix(path, "{}"):
		return `{"k":` + with("", path[2:], value) + `}`
	}
	name := path[1:]
	if end := strings.IndexAny(name, ".[{"); end >= 0 {
		name = name[:end]
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(document), &fields) // what is no object gives way to one
	var others strings.Builder
	for _, other := range slices.Sorted(maps.Keys(fields)) {
		if other != name {
			fmt.Fprintf(&others, "%q:%s,", other, fields[other])
		}
	}
	return fmt.Sprintf("{%s%q:%s}", &others, name, with(string(fields[name]), path[1+len(name):], value))
}
