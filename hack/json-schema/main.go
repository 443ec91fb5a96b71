// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command json-schema prints a JSON schema (draft 7) for manifests of all kinds, for completion and checks in
// editors. It is derived from the OpenAPI definitions of the API.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/generated/openapi"
)

// prefix is the prefix of references to definitions.
const prefix = "#/definitions/"

// groups is the suffix of the API groups whose kinds have a schema.
const groups = ".slipway.dev"

func main() {
	if err := printSchema(); err != nil {
		fmt.Fprintln(os.Stderr, "json-schema:", err)
		os.Exit(1)
	}
}

// printSchema writes the schema to standard output.
func printSchema() error {
	kinds := kindsOf()
	used, err := definitions(kinds)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(map[string]any{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       "Slipway",
		"description": "Manifests of the kinds of Slipway. Other kinds are accepted without validation.",
		"type":        "object",
		"allOf":       conditions(kinds),
		"definitions": used,
	}, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the schema: %w", err)
	}
	if _, err := os.Stdout.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing the schema: %w", err)
	}
	return nil
}

// kindsOf returns the names of the definitions of all kinds, which are the types that have a list type.
func kindsOf() map[schema.GroupVersionKind]string {
	known := scheme.Scheme.AllKnownTypes()
	kinds := map[schema.GroupVersionKind]string{}
	for kind, is := range known {
		list := kind
		list.Kind += "List"
		if _, has := known[list]; !has || kind.Version == runtime.APIVersionInternal || !strings.HasSuffix(kind.Group, groups) {
			continue
		}
		if named, ok := reflect.New(is).Interface().(interface{ OpenAPIModelName() string }); ok {
			kinds[kind] = named.OpenAPIModelName()
		}
	}
	return kinds
}

// conditions returns the conditions that select the definition of an object by apiVersion and kind.
func conditions(kinds map[schema.GroupVersionKind]string) []any {
	names := map[string][]string{}
	for kind := range kinds {
		version := kind.GroupVersion().String()
		names[version] = append(names[version], kind.Kind)
	}
	versions := make([]string, 0, len(names))
	for version := range names {
		versions = append(versions, version)
	}
	slices.Sort(versions)
	fits := func(property string, value any) any {
		return map[string]any{"required": []string{property}, "properties": map[string]any{property: value}}
	}
	all := []any{map[string]any{
		"if":   fits("apiVersion", map[string]any{"type": "string", "pattern": `^[a-z]+\.slipway\.dev/`}),
		"then": fits("apiVersion", map[string]any{"enum": versions}),
	}}
	for _, version := range versions {
		slices.Sort(names[version])
		of := fits("apiVersion", map[string]any{"const": version})
		all = append(all, map[string]any{"if": of, "then": fits("kind", map[string]any{"enum": names[version]})})
		for _, name := range names[version] {
			kind := schema.FromAPIVersionAndKind(version, name)
			all = append(all, map[string]any{
				"if":   map[string]any{"allOf": []any{of, fits("kind", map[string]any{"const": name})}},
				"then": map[string]any{"$ref": prefix + kinds[kind]},
			})
		}
	}
	return all
}

// definitions returns the definitions of the kinds and of all types that they refer to.
func definitions(kinds map[schema.GroupVersionKind]string) (map[string]any, error) {
	all := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(prefix + name) })
	used := map[string]any{}
	var add func(name string) error
	add = func(name string) error {
		if _, done := used[name]; done {
			return nil
		}
		definition, ok := all[name]
		if !ok {
			return fmt.Errorf("definition %s not found", name)
		}
		converted, err := plain(definition)
		if err != nil {
			return fmt.Errorf("definition %s: %w", name, err)
		}
		used[name] = converted
		for _, other := range adapt(converted) {
			if err := add(other); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range kinds {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// plain returns a definition as decoded JSON.
func plain(definition common.OpenAPIDefinition) (map[string]any, error) {
	data, err := json.Marshal(definition.Schema)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	var converted map[string]any
	if err := json.Unmarshal(data, &converted); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return converted, nil
}
