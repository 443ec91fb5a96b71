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

// MaxMessage is the maximum length of a message, in bytes. metav1.Condition allows 32,768. The lower limit keeps
// messages readable and leaves space for all conditions of an object.
const MaxMessage = 4096

const (
	// WritesWithinLimit is False while a controller delays the writes of an object because it wrote the object many
	// times within a minute. It is absent otherwise.
	WritesWithinLimit = "WritesWithinLimit"
	// ReasonTooManyWrites is the reason of WritesWithinLimit.
	ReasonTooManyWrites = "TooManyWrites"
)

// Set sets a condition, which is identified by its type, with now as its transition time.
func Set(all *[]metav1.Condition, now time.Time, c metav1.Condition) {
	c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	c.Message = Message(c.Message)
	meta.SetStatusCondition(all, c)
}

// SetBecause sets a condition to True with the reason and message of because, or removes the condition if because is
// nil.
func SetBecause(all *[]metav1.Condition, now time.Time, conditionType string, generation int64, because *metav1.Condition) {
	if because == nil {
		meta.RemoveStatusCondition(all, conditionType)
		return
	}
	Set(all, now, metav1.Condition{
		Type: conditionType, Status: metav1.ConditionTrue, Reason: because.Reason, Message: because.Message, ObservedGeneration: generation,
	})
}

// KeepTimes restores the transition times of previous in the conditions of current whose status is the same in both.
func KeepTimes(previous, current []metav1.Condition) {
	for i := range current {
		if before := Find(previous, current[i].Type); before != nil && before.Status == current[i].Status {
			current[i].LastTransitionTime = before.LastTransitionTime
		}
	}
}

// Find returns the condition of a type, or nil if there is none.
func Find(all []metav1.Condition, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(all, conditionType)
}

// IsTrue reports whether the condition exists and is True.
func IsTrue(all []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(all, conditionType)
}

// ColumnValue returns the value of a table column: the reason of the first condition of types that reports a problem, or
// "True" if there is none and the last condition is True. All types except the last are problems if they are present.
// It returns "" if none is present.
func ColumnValue(all []metav1.Condition, types ...string) string {
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

// Message converts text to a condition message: it joins the lines with "; " and truncates the text to MaxMessage bytes
// with an ellipsis.
func Message(text string) string { return TruncateLine(text, MaxMessage) }

// MaxNote is the maximum length of the note of a Kubernetes Event, in bytes (events.k8s.io/v1, Event.note).
const MaxNote = 1024

// Note formats a note of an Event like fmt.Sprintf and truncates it to MaxNote bytes, because the API server rejects
// longer notes.
func Note(format string, args ...any) string {
	return TruncateLine(fmt.Sprintf(format, args...), MaxNote)
}

// TruncateLine converts text like Message, with a limit of bound bytes.
func TruncateLine(text string, bound int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\n", "; "), "�")
	if len(text) <= bound {
		return text
	}
	const ellipsis = "…"
	end := bound - len(ellipsis)
	if end < 0 {
		return "" // There is no space for the ellipsis.
	}
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// maxListedItems is the number of items of a list that a message contains.
const maxListedItems = 3

// JoinLimited joins items with separator for a message. It includes the first three items and the number of the others.
func JoinLimited(items []string, separator string) string {
	if len(items) <= maxListedItems+1 { // One more item is as short as its count.
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:maxListedItems], separator), len(items)-maxListedItems)
}
