// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestLabelValue_HashesInvalidValues(t *testing.T) {
	for name, want := range map[string]string{"workers": "workers", strings.Repeat("machineSetName", 12): "hash_FR_ghQ_z"} {
		if got := clusterv1alpha1.LabelValue(name); got != want {
			t.Errorf("LabelValue(%s) = %s, want %s", name, got, want)
		}
	}
}
