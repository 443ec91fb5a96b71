// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// Number returns the cell of an optional number.
func Number(n *int32) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}

// Status returns the status of a condition, or nil if the condition is not set.
func Status(all []metav1.Condition, conditionType string) any {
	if c := conditions.Find(all, conditionType); c != nil {
		return string(c.Status)
	}
	return nil
}

// Bytes formats an optional number of bytes with at most three digits, such as 1.5Gi or 16Gi.
func Bytes(q *resource.Quantity) any {
	if q == nil {
		return nil
	}
	value, units := float64(q.Value()), []string{"B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	for value >= 999.5 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	digits := 1
	if value >= 9.95 {
		digits = 0
	}
	number, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'f', digits, 64), 64)
	return fmt.Sprint(number) + units[0] // removes ".0"
}
