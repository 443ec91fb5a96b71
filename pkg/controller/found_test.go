// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOnlyWhatTheServerSaysIsNotThereIsNone(t *testing.T) {
	there, broken := &corev1.ConfigMap{}, errors.New("broken")
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "x")
	for name, test := range map[string]struct {
		read    *corev1.ConfigMap
		err     error
		want    *corev1.ConfigMap
		wantErr error
	}{
		"there":                 {there, nil, there, nil},
		"not there":             {nil, gone, nil, nil},
		"an empty object, none": {there, gone, nil, nil},
		"not known":             {nil, broken, nil, broken},
	} {
		got, err := Found(test.read, test.err)
		if got != test.want || !errors.Is(err, test.wantErr) {
			t.Errorf("%s: %v, error %v, want %v, error %v", name, got, err, test.want, test.wantErr)
		}
	}
}
