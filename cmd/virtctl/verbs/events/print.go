// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

const (
	// MaxName is the maximum length of an object name, in bytes. The API server does not validate names and reasons
	// of legacy events, so they may contain anything.
	MaxName = 253
	// maxGap is the maximum width of a column, in characters. A longer cell shifts the rest of its line.
	maxGap = 48
)

// EventTime returns when an event was last seen.
func EventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// EventMessage returns an event's message and count.
func EventMessage(e *corev1.Event) string {
	count := e.Count
	if e.Series != nil {
		count = e.Series.Count
	}
	message := cli.Clipped(e.Message, conditions.MaxNote)
	if count > 1 {
		message += fmt.Sprintf(" (%d times)", count)
	}
	return message
}

// eventTable prints events as they arrive. The first events determine the widths of the columns.
type eventTable struct {
	out        io.Writer
	namespaces bool
	widths     []int
	headed     bool
}

func newEventTable(out io.Writer, namespaces bool, first []corev1.Event) *eventTable {
	t := &eventTable{out: out, namespaces: namespaces}
	t.measure(t.header())
	for i := range first {
		t.measure(t.cells(&first[i]))
	}
	return t
}

func (t *eventTable) header() []string {
	header := []string{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}
	if t.namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	return header
}

func (t *eventTable) cells(e *corev1.Event) []string {
	seen := metav1.NewTime(EventTime(e))
	cells := []string{
		cli.At(&seen), cli.Clipped(e.Type, MaxName), cli.Clipped(e.Reason, MaxName),
		strings.ToLower(cli.Clipped(e.InvolvedObject.Kind, MaxName)) + "/" + cli.Clipped(e.InvolvedObject.Name, MaxName), EventMessage(e),
	}
	if t.namespaces {
		cells = append([]string{cli.Clipped(e.Namespace, MaxName)}, cells...)
	}
	return cells
}

func (t *eventTable) measure(cells []string) {
	for i, c := range cells {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], min(utf8.RuneCountInString(c), maxGap))
	}
}

func (t *eventTable) print(all ...corev1.Event) {
	if !t.headed {
		t.headed = true
		t.line(t.header())
	}
	for i := range all {
		t.line(t.cells(&all[i]))
	}
}

func (t *eventTable) line(cells []string) {
	var line strings.Builder
	for i, c := range cells {
		if i == len(cells)-1 {
			line.WriteString(c)
			break
		}
		fmt.Fprintf(&line, "%-*s   ", t.widths[i], c)
	}
	fmt.Fprintln(t.out, line.String())
}
