// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
)

func TestNamesBecomeTheValuesOfLabels(t *testing.T) {
	for name, want := range map[string]string{"workers": "workers", strings.Repeat("machineSetName", 12): "hash_FR_ghQ_z"} {
		if got := LabelValue(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}
