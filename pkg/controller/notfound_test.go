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

func TestIgnoreNotFound_IgnoresOnlyNotFoundErrors(t *testing.T) {
	existing, broken := &corev1.ConfigMap{}, errors.New("broken")
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "x")
	for name, test := range map[string]struct {
		read    *corev1.ConfigMap
		err     error
		want    *corev1.ConfigMap
		wantErr error
	}{
		"found":                  {existing, nil, existing, nil},
		"not found":              {nil, notFound, nil, nil},
		"not found, with object": {existing, notFound, nil, nil},
		"read error":             {nil, broken, nil, broken},
	} {
		got, err := IgnoreNotFound(test.read, test.err)
		if got != test.want || !errors.Is(err, test.wantErr) {
			t.Errorf("%s: %v, error %v, want %v, error %v", name, got, err, test.want, test.wantErr)
		}
	}
}
