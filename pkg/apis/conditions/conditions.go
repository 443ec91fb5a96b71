// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxMessage is the longest message that is kept, in bytes. metav1.Condition allows
// 32,768; this is what a person reads, and leaves room for all conditions of an object.
const MaxMessage = 4096

const (
	// WritesWithinLimit is False while a controller writes an object less often than it would, because
	// it was written many times in quick succession for a minute. Objects do not have it otherwise.
	WritesWithinLimit = "WritesWithinLimit"
	// ReasonTooManyWrites is the reason of WritesWithinLimit.
	ReasonTooManyWrites = "TooManyWrites"
)

// Set sets a condition, found by its type, as seen at now.
func Set(all *[]metav1.Condition, now time.Time, c metav1.Condition) {
	c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	c.Message = Message(c.Message)
	meta.SetStatusCondition(all, c)
}

// SetBecause sets a condition of conditionType to True with the reason and message of because, and removes it if because
// is nil.
func SetBecause(all *[]metav1.Condition, now time.Time, conditionType string, generation int64, because *metav1.Condition) {
	if because == nil {
		meta.RemoveStatusCondition(all, conditionType)
		return
	}
	Set(all, now, metav1.Condition{
		Type: conditionType, Status: metav1.ConditionTrue, Reason: because.Reason, Message: because.Message, ObservedGeneration: generation,
	})
}

// KeepTimes gives the conditions of now whose status is as in was the transition time
// that they had there.
func KeepTimes(was, now []metav1.Condition) {
	for i := range now {
		if before := Find(was, now[i].Type); before != nil && before.Status == now[i].Status {
			now[i].LastTransitionTime = before.LastTransitionTime
		}
	}
}

// Find returns the condition of a type, nil when there is none.
func Find(all []metav1.Condition, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(all, conditionType)
}

// IsTrue is true for a condition that is there and True.
func IsTrue(all []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(all, conditionType)
}

// Brief is what a column says: the reason of the first condition of types that is there
// and is not as all is well, else True for the last one. All but the last of types are
// good when they are not there. It is empty where nothing is known.
func Brief(all []metav1.Condition, types ...string) string {
	for i, conditionType := range types {
		c := Find(all, conditionType)
		switch {
		case c == nil:
		case i == len(types)-1 && c.Status == metav1.ConditionTrue:
			return string(c.Status)
		default:
			return c.Reason
		}
	}
	return ""
}

// Message makes of text what a condition may say: its lines joined by "; ", and cut with
// an ellipsis when it is too long.
func Message(text string) string { return Line(text, MaxMessage) }

// MaxNote is the longest note of a Kubernetes Event, in bytes (events.k8s.io/v1, Event.note).
const MaxNote = 1024

// Note makes a note of an Event, as fmt.Sprintf would, and bounds it: one that is too long is
// refused.
func Note(format string, args ...any) string { return Line(fmt.Sprintf(format, args...), MaxNote) }

// Line is Message with another bound, in bytes.
func Line(text string, bound int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\n", "; "), "�")
	if len(text) <= bound {
		return text
	}
	const ellipsis = "…"
	end := bound - len(ellipsis)
	if end < 0 {
		return "" // There is no room for it.
	}
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// listed is how many items of a list a message names.
const listed = 3

// List joins items by separator as a message does: it names the first three and counts
// the rest.
func List(items []string, separator string) string {
	if len(items) <= listed+1 { // One more is as short as its count.
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:listed], separator), len(items)-listed)
}
