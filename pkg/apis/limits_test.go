// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
)

func TestWhole(t *testing.T) {
	for amount, want := range map[string]int64{
		"1":       1,
		"1.5Gi":   3 << 29,
		"0.5Ki":   512,
		"2G":      2_000_000_000,
		"1500m":   -1,
		"0.3Ki":   -1,
		"0":       -1,
		"-1":      -1,
		"24Ti":    limits.MaxMemory,
		"25Ti":    -1,
		"1e30":    -1,
		"1000Ei":  -1,
		"2000e-3": 2,
	} {
		got, ok := limits.WholeNumber(resource.MustParse(amount), 1, limits.MaxMemory)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("Whole(%s) = %d, %t; want %d", amount, got, ok, want)
		}
	}
}
