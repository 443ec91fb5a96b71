// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// Row writes one line of a table. Cells are escaped because names in vSphere can contain anything.
func Row(w io.Writer, cells ...string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, Printable(c))
	}
	fmt.Fprintln(w)
}

// BytesOf formats an amount, empty if it is unknown.
func BytesOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

// Dash returns "-" for an empty cell.
func Dash(text string) string { return cmp.Or(text, "-") }

// Age formats the time since t as kubectl does.
func Age(now time.Time, t *metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

// AmountOf formats a number of bytes.
func AmountOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return Amount(q.Value())
}

// At formats a time, empty for none.
func At(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Printable escapes control characters in text, because names in vSphere can contain anything.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Clipped returns text of the API on one line and truncated to a number of bytes.
func Clipped(text string, most int) string { return Printable(conditions.TruncateLine(text, most)) }
