// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

// readDocument returns the document of testdata/every-field.yaml at index.
func readDocument(t *testing.T, index int) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))[index]
}

func TestKubeVirtCatalog_RoundTripsEveryField(t *testing.T) {
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	for index, got := range []any{&v1alpha1.VirtualMachineClusterInstancetype{}, &v1alpha1.VirtualMachineClusterPreference{}} {
		document := readDocument(t, index)
		obj, _, err := strict.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("document %d has an unknown field: %v", index, err)
		}
		if reflect.TypeOf(obj) != reflect.TypeOf(got) {
			t.Fatalf("document %d was decoded as %T", index, obj)
		}

		// The encoded object must contain all fields of the document.
		written, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		var want, have map[string]any
		if err := yaml.Unmarshal(document, &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(written, &have); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want["spec"], have["spec"]); diff != "" {
			t.Errorf("spec of document %d differs (-read +written):\n%s", index, diff)
		}
	}
}

func TestKubeVirtCatalog_SetsEveryField(t *testing.T) {
	var size v1alpha1.VirtualMachineClusterInstancetype
	var preference v1alpha1.VirtualMachineClusterPreference
	for index, obj := range []any{&size, &preference} {
		if err := yaml.UnmarshalStrict(readDocument(t, index), obj); err != nil {
			t.Fatal(err)
		}
	}
	for name, spec := range map[string]reflect.Value{
		"VirtualMachineInstancetypeSpec": reflect.ValueOf(size.Spec),
		"DevicePreferences":              reflect.ValueOf(*preference.Spec.Devices),
		"FeatureHyperv":                  reflect.ValueOf(*preference.Spec.Features.PreferredHyperv),
		"FirmwarePreferences":            reflect.ValueOf(*preference.Spec.Firmware),
		"VirtualMachinePreferenceSpec":   reflect.ValueOf(preference.Spec),
	} {
		for i := range spec.NumField() {
			if spec.Field(i).IsZero() {
				t.Errorf("testdata/every-field.yaml does not set %s.%s", name, spec.Type().Field(i).Name)
			}
		}
	}
}
