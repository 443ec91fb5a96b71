// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// entries returns n Pods with one step, named by prefix and number.
func entries(n int, prefix string, e Entry) Plan {
	var plan Plan
	for i := range n {
		e.Pod = pod(fmt.Sprintf("%s-%d", prefix, i+1))
		plan = append(plan, e)
	}
	return plan
}

func budget(text string) *failure {
	return &failure{text: "cannot evict pod as it would violate the pod's disruption budget. " + text, cause: DisruptionBudgets}
}

// messages are plans with their messages.
var messages = map[string]struct {
	plan        Plan
	unreachable bool
	want        []string
	causes      []Cause
}{
	"short": {
		slices.Concat(
			entries(1, "deleting", Entry{Step: Deleting}),
			entries(1, "pdb", Entry{Step: EvictNow, failure: budget("The disruption budget pdb needs 1 healthy pods and has 1 currently")}),
			entries(1, "failed", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, some other error", cause: EvictionErrors}}),
			entries(1, "wait", Entry{Step: WaitNow}), entries(1, "later", Entry{Step: EvictLater}), entries(1, "wait-later", Entry{Step: WaitLater}),
			entries(1, "ignored", Entry{Step: Ignored}), entries(1, "gone", Entry{Step: podNotFound}),
		), false,
		[]string{
			"Drain not completed yet (started at 2026-11-21T07:30:00Z):",
			"* Pod default/deleting-1: deletionTimestamp set, but still not removed from the Node",
			"* Pod default/pdb-1: cannot evict pod as it would violate the pod's disruption budget. The disruption budget pdb needs 1 healthy pods and has 1 currently",
			"* Pod default/failed-1: failed to evict Pod, some other error",
			"* Pod default/wait-1: waiting for completion",
			"After above Pods have been removed from the Node, the following Pods will be evicted: default/later-1",
			"After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: default/wait-later-1",
		},
		[]Cause{DisruptionBudgets, NotTerminating, EvictionErrors, NotCompleted},
	},
	"long": {
		slices.Concat(
			entries(4, "deleting", Entry{Step: Deleting}),
			entries(3, "pdb", Entry{Step: EvictNow, failure: budget("x")}),
			entries(7, "wait", Entry{Step: WaitNow}), entries(5, "later", Entry{Step: EvictLater}), entries(4, "wait-later", Entry{Step: WaitLater}),
		), false,
		[]string{
			"Drain not completed yet (started at 2026-11-21T07:30:00Z):",
			"* Pods default/deleting-1, default/deleting-2, default/deleting-3, ... (1 more): deletionTimestamp set, but still not removed from the Node",
			"* Pods default/pdb-1, default/pdb-2, default/pdb-3: cannot evict pod as it would violate the pod's disruption budget. x",
			"* Pods default/wait-1, default/wait-2, default/wait-3, ... (4 more): waiting for completion",
			"After above Pods have been removed from the Node, the following Pods will be evicted: default/later-1, default/later-2, default/later-3, ... (2 more)",
			"After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: default/wait-later-1, default/wait-later-2, default/wait-later-3, ... (1 more)",
		},
		[]Cause{DisruptionBudgets, NotTerminating, NotCompleted},
	},
	"more than five kinds of errors": {
		slices.Concat(
			entries(1, "a", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, error 1"}}),
			entries(1, "b", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, error 2"}}),
			entries(1, "c", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, error 3"}}),
			entries(1, "d", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, error 4"}}),
			entries(1, "e", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, error 5"}}),
			entries(1, "f", Entry{Step: EvictNow, failure: &failure{text: "failed to evict Pod, error 6", cause: EvictionErrors}}),
		), false,
		[]string{
			"Drain not completed yet (started at 2026-11-21T07:30:00Z):",
			"* Pod default/a-1: failed to evict Pod, error 1",
			"* Pod default/b-1: failed to evict Pod, error 2",
			"* Pod default/c-1: failed to evict Pod, error 3",
			"* Pod default/d-1: failed to evict Pod, error 4",
			"* Pod default/e-1: failed to evict Pod, error 5",
			"* 1 Pod with other issues",
		},
		[]Cause{EvictionErrors},
	},
	"undecided Pods are reported like errors": {
		entries(2, "a", Entry{Step: Blocked, Decision: newUndecided(errDown)}), false,
		[]string{
			"Drain not completed yet (started at 2026-11-21T07:30:00Z):",
			"* Pods default/a-1, default/a-2: cannot determine whether to evict: the server is down",
		},
		[]Cause{EvictionErrors},
	},
	"a budget on an unreachable node": {
		entries(1, "pdb", Entry{Step: EvictNow, failure: budget("x")}), true,
		[]string{
			"Drain not completed yet (started at 2026-11-21T07:30:00Z):",
			"* Pod default/pdb-1: cannot evict pod as it would violate the pod's disruption budget. x",
			"* Node is unreachable: a PodDisruptionBudget with unhealthyPodEvictionPolicy AlwaysAllow lets its Pods be evicted, and spec.deletion.nodeDrainTimeoutSeconds of the Machine ends the wait",
		},
		[]Cause{DisruptionBudgets},
	},
	"no budget on an unreachable node": {
		entries(1, "a", Entry{Step: Deleting}), true,
		[]string{
			"Drain not completed yet (started at 2026-11-21T07:30:00Z):",
			"* Pod default/a-1: deletionTimestamp set, but still not removed from the Node",
		},
		[]Cause{NotTerminating},
	},
}

// Behaviors MB140 of test/behaviours.
func TestMessage_ListsOutstandingPods(t *testing.T) {
	for name, tc := range messages {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, strings.Split(message(tc.plan, tc.unreachable, now), "\n")); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.causes, causesOf(tc.plan)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessage_CountsFurtherErrors(t *testing.T) {
	var plan Plan
	for i := range 9 {
		plan = append(plan, entries(2, "a", Entry{Step: EvictNow, failure: &failure{text: fmt.Sprint("error ", i)}})...)
	}
	lines := failures(plan)
	if got, want := lines[len(lines)-1], "* 8 Pods with other issues"; got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
}

func TestMessage_HasALimit(t *testing.T) {
	var plan Plan
	for i := range 9 {
		plan = append(plan, entries(4, strings.Repeat("n", 250), Entry{Step: EvictNow, failure: &failure{text: fmt.Sprint(i, strings.Repeat("ä\n", 100000))}})...)
	}
	got := message(plan, true, now)
	if len(got) > conditions.MaxMessage {
		t.Errorf("%d bytes, want at most %d", len(got), conditions.MaxMessage)
	}
	if lines := strings.Count(got, "\n"); lines > maxFailures+1 {
		t.Errorf("%d line feeds: those of an error were not removed", lines)
	}
	if !strings.HasSuffix(got, "…") {
		t.Errorf("a truncated message ends with %q, want an ellipsis", got[len(got)-10:])
	}
}
