// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command models-schema prints the OpenAPI definitions of the API as one
// OpenAPI v2 document. The generator of apply configurations reads from it
// which lists are merged by key.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/slipway-dev/slipway/pkg/generated/openapi"
)

func main() {
	if err := printSchema(); err != nil {
		fmt.Fprintln(os.Stderr, "models-schema:", err)
		os.Exit(1)
	}
}

// printSchema writes the document to standard output.
func printSchema() error {
	defs := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + name)
	})
	swagger := spec.Swagger{}
	swagger.Swagger = "2.0"
	swagger.Info = &spec.Info{InfoProps: spec.InfoProps{Title: "Slipway", Version: "unversioned"}}
	swagger.Definitions = make(spec.Definitions, len(defs))
	for name, def := range defs {
		schema := def.Schema
		// A v3 definition may contain its v2 form.
		if v2, ok := schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
			schema = v2
		}
		swagger.Definitions[name] = schema
	}
	data, err := json.Marshal(&swagger)
	if err != nil {
		return fmt.Errorf("encoding the definitions: %w", err)
	}
	if _, err := os.Stdout.Write(data); err != nil {
		return fmt.Errorf("writing the definitions: %w", err)
	}
	return nil
}
