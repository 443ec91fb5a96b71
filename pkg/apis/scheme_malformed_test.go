// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// A request with fieldValidation=Strict, the default of kubectl, is decoded with a strict decoder.
func TestRequests_ReportEveryInvalidField(t *testing.T) {
	const kind = `"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","metadata":{"name":"a"}`
	for name, tc := range map[string]struct {
		document string
		strict   bool
		want     []string
		lacks    string
	}{
		"three values of the wrong type": {
			`{` + kind + `,"spec":{"cpus":2,"memory":"4GB","image":"photon-5"}}`, true,
			[]string{`spec.memory: Invalid value: "4GB": must be an object with the fields: guest`, `spec.image: Invalid value: "photon-5": must be an object`, `unknown field "spec.cpus", did you mean "spec.cpu"?`}, "",
		},
		"three in YAML": {
			"apiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n  cpus: 2\n  memory: {guest: 4GB}\n  image: photon-5\n", true,
			[]string{`spec.memory.guest: Invalid value: "4GB": quantities must match`, `spec.image: Invalid value: "photon-5": must be an object`, `unknown field "spec.cpus", did you mean "spec.cpu"?`}, "",
		},
		"not strict": {
			`{` + kind + `,"spec":{"cpus":2,"memory":"4GB","image":"photon-5"}}`, false,
			[]string{`spec.memory: Invalid value: "4GB"`, `spec.image: Invalid value: "photon-5"`}, "cpus",
		},
		"unknown fields only": {
			`{` + kind + `,"spec":{"netwrok":{},"volumes":[{"name":"a","dsik":{}}],"colour":"blue"}}`, true,
			[]string{`unknown field "spec.netwrok", did you mean "spec.network"?`, `unknown field "spec.volumes[0].dsik", did you mean "spec.volumes[0].disk"?`, `unknown field "spec.colour"`}, `colour", did`,
		},
		"an unknown field of metadata": {`{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","metadata":{"nmae":"a"}}`, true, []string{`unknown field "metadata.nmae", did you mean "metadata.name"?`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mediaType := runtime.ContentTypeJSON
			if !strings.HasPrefix(tc.document, "{") {
				mediaType = runtime.ContentTypeYAML
			}
			info, _ := runtime.SerializerInfoForMediaType(scheme.Requests.SupportedMediaTypes(), mediaType)
			serializer := info.Serializer
			if tc.strict {
				serializer = info.StrictSerializer
			}
			_, _, err := scheme.Requests.DecoderToVersion(serializer, vmv1alpha1.SchemeGroupVersion).Decode([]byte(tc.document), nil, &vmv1alpha1.VirtualMachine{})
			if err == nil {
				t.Fatal("Decode returns no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
			if tc.lacks != "" && strings.Contains(err.Error(), tc.lacks) {
				t.Errorf("error %q has %q", err, tc.lacks)
			}
		})
	}
}
