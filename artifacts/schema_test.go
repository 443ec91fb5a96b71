// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipway-dev/slipway/test/schema"
)

// judge returns the JSON schema for editors.
func judge(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.NewCompiler().Compile("schemas/slipway.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestSchema_AcceptsEveryExample(t *testing.T) {
	judge, ours := judge(t), map[string]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "templates" {
			return filepath.SkipDir // chart templates are not manifests
		}
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := Decode(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, object := range objects {
			if err := judge.Validate(object.Object); err != nil {
				t.Errorf("%s: %s %s: %v", path, object.GetKind(), object.GetName(), err)
			}
			if strings.HasSuffix(object.GroupVersionKind().Group, ".slipway.dev") {
				ours[object.GetKind()]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(ours) < 15 || ours["VirtualMachine"] < 5 {
		t.Errorf("checked only the kinds %v", ours)
	}
}

func TestSchema_ContainsAllKinds(t *testing.T) {
	judge := judge(t)
	for _, kind := range schema.Kinds {
		good, bad := kind.Object("a", ""), kind.Object("a", `,"lables":{"a":"b"}`)
		if err := judge.Validate(decoded(t, good)); err != nil {
			t.Errorf("a valid %s: %v", kind.Name, err)
		}
		if err := judge.Validate(decoded(t, bad)); err == nil {
			t.Errorf("a %s with metadata.lables is accepted", kind.Name)
		}
	}
}

func TestSchema_ReportsErrors(t *testing.T) {
	judge := judge(t)
	vm := func(spec string) string {
		return `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","metadata":{"name":"a"},"spec":` + spec + `}`
	}
	for document, want := range map[string]string{
		vm(`{"memmory":{"guest":"1Gi"}}`):                                            "at '/spec': additional properties 'memmory' not allowed",
		vm(`{"powerState":"On"}`):                                                    "at '/spec/powerState': value must be one of",
		vm(`{"cpu":{"sockets":"two"}}`):                                              "at '/spec/cpu/sockets': got string, want integer",
		vm(`{"memory":{"guest":true}}`):                                              "at '/spec/memory/guest'",
		vm(`{"volumes":[{"disk":{"size":"1Gi"}}]}`):                                  "at '/spec/volumes/0': missing property 'name'",
		`{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMaschine"}`:          "at '/kind': value must be one of",
		`{"apiVersion":"vm.slipway.dev/v1","kind":"VirtualMachine"}`:                 "at '/apiVersion': value must be one of",
		`{"apiVersion":"cluster.slipway.dev/v1alpha1","kind":"VirtualMachineClass"}`: "at '/kind': value must be one of",
	} {
		if err := judge.Validate(decoded(t, document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", document, err, want)
		}
	}
	for _, document := range []string{
		vm(`{"memory":{"guest":"1Gi"}}`), vm(`{"memory":{"guest":1073741824}}`),
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"a":"b"}}`,
	} {
		if err := judge.Validate(decoded(t, document)); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}

func TestSchema_DoesNotRequireDefaultedSelectors(t *testing.T) {
	judge := judge(t)
	for _, kind := range []string{"MachineSet", "MachineDeployment"} {
		of := func(template string) string {
			return `{"apiVersion":"cluster.slipway.dev/v1alpha1","kind":"` + kind + `","metadata":{"name":"a"},"spec":{"clusterName":"c"` + template + `}}`
		}
		if err := judge.Validate(decoded(t, of(`,"template":{"spec":{"clusterName":"c","bootstrap":{},"infrastructureRef":{"apiGroup":"g","kind":"k","name":"n"}}}`))); err != nil {
			t.Errorf("a %s without a selector: %v", kind, err)
		}
		if err := judge.Validate(decoded(t, of(""))); err == nil || !strings.Contains(err.Error(), "missing property 'template'") {
			t.Errorf("a %s without a template: %v, want an error with the field", kind, err)
		}
	}
}

func decoded(t *testing.T, document string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(document), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
