// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

func TestSet_IsUnchangedAfterSerialization(t *testing.T) {
	var all []metav1.Condition
	now := time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("x", 3600))
	conditions.Set(&all, now, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded"})
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var read []metav1.Condition
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, read); diff != "" {
		t.Errorf("conditions differ after serialization (-set +read):\n%s", diff)
	}
}

func TestSet_ChangesTransitionTimeWithStatusOnly(t *testing.T) {
	var all []metav1.Condition
	first, later := time.Unix(1000, 0), time.Unix(2000, 0)
	for _, step := range []struct {
		at     time.Time
		status metav1.ConditionStatus
		reason string
		want   time.Time
	}{
		{first, metav1.ConditionFalse, "Creating", first},
		{later, metav1.ConditionFalse, "Error", first},
		{later, metav1.ConditionTrue, "Succeeded", later},
	} {
		conditions.Set(&all, step.at, metav1.Condition{Type: "Created", Status: step.status, Reason: step.reason})
		got := conditions.Find(all, "Created")
		if !got.LastTransitionTime.Time.Equal(step.want) || got.Reason != step.reason {
			t.Errorf("%s/%s has transition time %v, want %v", got.Status, got.Reason, got.LastTransitionTime, step.want)
		}
	}
	if !conditions.IsTrue(all, "Created") || conditions.IsTrue(all, "Ready") || conditions.Find(all, "Ready") != nil {
		t.Errorf("conditions are %+v, want Created=True alone", all)
	}
}

func TestMessage_ReturnsOneLineWithinLimit(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"short":             {"no host", "no host"},
		"joined errors":     {"no host\nno network", "no host; no network"},
		"not UTF-8":         {"bad \xff name", "bad � name"},
		"longest":           {strings.Repeat("a", conditions.MaxMessage), strings.Repeat("a", conditions.MaxMessage)},
		"too long":          {strings.Repeat("a", conditions.MaxMessage+1), strings.Repeat("a", conditions.MaxMessage-3) + "…"},
		"cut within a rune": {strings.Repeat("a", conditions.MaxMessage-4) + "ééé", strings.Repeat("a", conditions.MaxMessage-4) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := conditions.Message(test.text)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if len(got) > conditions.MaxMessage || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
			}
		})
	}
}

// The limit can be smaller than an ellipsis.
func TestLine_RespectsSmallLimits(t *testing.T) {
	for bound := range 6 {
		if got := conditions.TruncateLine("éééé", bound); len(got) > bound || !utf8.ValidString(got) {
			t.Errorf("%q has more than %d bytes", got, bound)
		}
	}
}

func TestKeepTimes_RestoresTimeOfSameStatus(t *testing.T) {
	was := []metav1.Condition{{Type: "Paused", Status: metav1.ConditionTrue, LastTransitionTime: metav1.Unix(1000, 0)}}
	for name, c := range map[string]struct {
		now  metav1.Condition
		want int64
	}{
		"same status":    {metav1.Condition{Type: "Paused", Status: metav1.ConditionTrue}, 1000},
		"another status": {metav1.Condition{Type: "Paused", Status: metav1.ConditionFalse}, 2000},
		"not there":      {metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			var now []metav1.Condition
			conditions.Set(&now, time.Unix(2000, 0), c.now)
			conditions.KeepTimes(was, now)
			if got := now[0].LastTransitionTime.Unix(); got != c.want {
				t.Errorf("transition time is %d, want %d", got, c.want)
			}
		})
	}
}

func TestList_ContainsFirstThreeItemsAndCount(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	for n, want := range []string{"", "a", "a; b", "a; b; c", "a; b; c; d", "a; b; c and 2 more"} {
		if got := conditions.JoinLimited(all[:n], "; "); got != want {
			t.Errorf("list of %d is %q, want %q", n, got, want)
		}
	}
}

func TestSet_LimitsMessageLength(t *testing.T) {
	var all []metav1.Condition
	conditions.Set(&all, time.Unix(1, 0), metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Error", Message: strings.Repeat("é", 100_000)})
	if errs := validation.ValidateConditions(all, nil); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestBrief_ReturnsFirstProblem(t *testing.T) {
	c := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Why" + kind}
	}
	for want, all := range map[string][]metav1.Condition{
		"":            nil,
		"True":        {c("Ready", metav1.ConditionTrue)},
		"WhyReady":    {c("Ready", metav1.ConditionUnknown)},
		"WhyDeleting": {c("Ready", metav1.ConditionTrue), c("Deleting", metav1.ConditionTrue)},
	} {
		if got := conditions.ColumnValue(all, "Deleting", "Ready"); got != want {
			t.Errorf("Brief(%v) = %q, want %q", all, got, want)
		}
	}
}
