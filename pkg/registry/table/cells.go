// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// Number is the cell of an optional number.
func Number(n *int32) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}

// Status is the cell of a condition: True, False or Unknown, empty if it is not there.
func Status(all []metav1.Condition, conditionType string) any {
	if c := conditions.Find(all, conditionType); c != nil {
		return string(c.Status)
	}
	return nil
}
