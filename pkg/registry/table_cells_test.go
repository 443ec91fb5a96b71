// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/registry/table"
)

func TestBytes_HasAUnitAndAtMostThreeDigits(t *testing.T) {
	for bytes, want := range map[string]string{
		"0": "0B", "999": "999B", "1000": "1Ki", "4301": "4.2Ki", "1572894Ki": "1.5Gi", "16Gi": "16Gi", "999Mi": "999Mi",
		"1023Mi": "1Gi", "10200Ki": "10Mi", "2560Gi": "2.5Ti", "10000000000": "9.3Gi", "7Ei": "7Ei",
	} {
		if got := table.Bytes(new(resource.MustParse(bytes))); got != want {
			t.Errorf("%s is formatted as %v, want %s", bytes, got, want)
		}
	}
	if got := table.Bytes(nil); got != nil {
		t.Errorf("nil is formatted as %v", got)
	}
}
