// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/google/go-cmp/cmp"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/instancetype/validation"
)

func revision(data string, generation int64) *itv1alpha1.ControllerRevision {
	return &itv1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n", ResourceVersion: "1"},
		Data:       runtime.RawExtension{Raw: []byte(data)}, Revision: generation,
	}
}

func TestValidateControllerRevision(t *testing.T) {
	for name, tc := range map[string]struct {
		obj  *itv1alpha1.ControllerRevision
		want []string
	}{
		"an object":             {revision(`{"kind":"A"}`, 1), nil},
		"generation 0":          {revision(`{"kind":"A"}`, 0), nil},
		"nothing":               {revision("", 1), []string{"data"}},
		"a list":                {revision("[]", 1), []string{"data"}},
		"invalid JSON":          {revision("{", 1), []string{"data"}},
		"a negative generation": {revision("{}", -1), []string{"revision"}},
	} {
		var got []string
		for _, err := range validation.ValidateControllerRevision(tc.obj) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: rejected fields (-want +got):\n%s", name, diff)
		}
	}
}

func TestValidateControllerRevisionUpdate_RejectsChanges(t *testing.T) {
	old := revision(`{"a":1,"b":2}`, 1)
	marked := revision(`{"b":2, "a":1}`, 1)
	marked.Annotations = map[string]string{itv1alpha1.AnnotationCollecting: ""}
	for name, tc := range map[string]struct {
		obj  *itv1alpha1.ControllerRevision
		want []string
	}{
		"metadata and the order of fields": {marked, nil},
		"another object":                   {revision(`{"a":1,"b":3}`, 1), []string{"data"}},
		"another generation":               {revision(`{"a":1,"b":2}`, 2), []string{"revision"}},
	} {
		var got []string
		for _, err := range validation.ValidateControllerRevisionUpdate(tc.obj, old) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: rejected fields (-want +got):\n%s", name, diff)
		}
	}
}
