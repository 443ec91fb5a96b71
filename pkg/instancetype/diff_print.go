// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// The functions below print values so that equal values print equally. Unset
// prints as the empty string.

func number(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// trueOnly prints a flag of which unset means false.
func trueOnly(b *bool) string {
	if !isTrue(b) {
		return ""
	}
	return "true"
}

// quantity prints in binary units, whatever the unit was given in: 4096Mi and
// 4Gi are equal.
func quantity(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	format := resource.BinarySI
	if q.Value()%1024 != 0 {
		format = resource.DecimalSI
	}
	return resource.NewQuantity(q.Value(), format).String()
}

func latency(l vmv1alpha1.LatencySensitivity) string {
	if l == "" {
		return string(vmv1alpha1.LatencySensitivityNormal)
	}
	return string(l)
}

// shares prints the weight; unset is the level Normal.
func shares(s *vmv1alpha1.Shares) string {
	switch {
	case s == nil:
		return string(vmv1alpha1.SharesNormal)
	case s.Level == vmv1alpha1.SharesCustom && s.Shares != nil:
		return strconv.Itoa(int(*s.Shares))
	default:
		return string(s.Level)
	}
}
