// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

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

// row writes one line of a table. Names in vSphere are anybody's.
func row(w io.Writer, cells ...string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, printable(c))
	}
	fmt.Fprintln(w)
}

// bytesOf is an amount, empty for one that is not known.
func bytesOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

// dash stands for what is not there in a table.
func dash(text string) string { return cmp.Or(text, "-") }

// age is how long ago something was, as kubectl writes it.
func age(now time.Time, t *metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

// amountOf is a number of bytes for people.
func amountOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return amount(q.Value())
}

// at is a time for people, empty for none.
func at(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// printable is text without what steers a terminal: names in vSphere are anybody's.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// clipped is text of the API for a terminal, on one line and of at most so many bytes.
func clipped(text string, most int) string { return printable(conditions.Line(text, most)) }
