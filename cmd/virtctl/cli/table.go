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

// Row writes one line of a table. Names in vSphere are anybody's.
func Row(w io.Writer, cells ...string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, Printable(c))
	}
	fmt.Fprintln(w)
}

// BytesOf is an amount, empty for one that is not known.
func BytesOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

// Dash stands for what is not there in a table.
func Dash(text string) string { return cmp.Or(text, "-") }

// Age is how long ago something was, as kubectl writes it.
func Age(now time.Time, t *metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

// AmountOf is a number of bytes for people.
func AmountOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return Amount(q.Value())
}

// At is a time for people, empty for none.
func At(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Printable is text without what steers a terminal: names in vSphere are anybody's.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Clipped is text of the API for a terminal, on one line and of at most so many bytes.
func Clipped(text string, most int) string { return Printable(conditions.TruncateLine(text, most)) }
