// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// withConditions sets conditions, each as "Type Status Reason message".
func withConditions(lines ...string) func(*machine) {
	return func(m *machine) {
		for _, l := range lines {
			p := strings.SplitN(l, " ", 4)
			c := metav1.Condition{Type: p[0], Status: metav1.ConditionStatus(p[1]), Reason: p[2]}
			if len(p) > 3 {
				c.Message = p[3]
			}
			m.Status.Conditions = append(m.Status.Conditions, c)
		}
	}
}

// goodConditions are the conditions of a healthy Machine.
var goodConditions = []string{"Deleting False NotDeleting", "Updating False NotUpdating", "BootstrapConfigReady True R", "InfrastructureReady True R", "NodeHealthy True R"}

func goodExcept(lines ...string) func(*machine) {
	all := append([]string{}, lines...)
	for _, l := range goodConditions {
		replaced := false
		for _, other := range lines {
			replaced = replaced || strings.Fields(other)[0] == strings.Fields(l)[0]
		}
		if !replaced {
			all = append(all, l)
		}
	}
	return withConditions(all...)
}

func gates(kinds ...string) func(*machine) {
	return func(m *machine) {
		for _, k := range kinds {
			kind, negative := strings.CutPrefix(k, "!")
			g := clusterv1alpha1.MachineReadinessGate{ConditionType: kind}
			if negative {
				g.Polarity = clusterv1alpha1.NegativePolarityCondition
			}
			m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, g)
		}
	}
}

// Behaviors MB98, MB101-102, MC8 of test/behaviours.
func TestReady_SummarizesConditionsAndGates(t *testing.T) {
	tests := map[string]struct {
		changes []func(*machine)
		want    string
	}{
		"all good":                    {changesOf(goodExcept()), "True Ready "},
		"messages of good conditions": {changesOf(goodExcept("InfrastructureReady True R fine")), "True Ready * InfrastructureReady: fine"},
		"one bad":                     {changesOf(goodExcept("InfrastructureReady False Creating")), "False NotReady * InfrastructureReady: Creating"},
		"one unknown":                 {changesOf(goodExcept("NodeHealthy Unknown X no contact")), "Unknown ReadyUnknown * NodeHealthy: no contact"},
		"bad before unknown":          {changesOf(goodExcept("NodeHealthy Unknown X no contact", "BootstrapConfigReady False Y")), "False NotReady * BootstrapConfigReady: Y\n* NodeHealthy: no contact"},
		"many lines":                  {changesOf(goodExcept("NodeHealthy False X * Node.Ready: no\n* Node.DiskPressure: yes")), "False NotReady * NodeHealthy:\n  * Node.Ready: no\n  * Node.DiskPressure: yes"},
		"lines with a headline":       {changesOf(goodExcept("NodeHealthy False X headline:\n* one")), "False NotReady * NodeHealthy:\n  * headline:\n    * one"},
		"updating":                    {changesOf(goodExcept("Updating True InPlaceUpdating in progress")), "False NotReady * Updating: in progress"},
		"health check bad":            {changesOf(goodExcept("HealthCheckSucceeded False UnhealthyNode bad")), "False NotReady * HealthCheckSucceeded: bad"},
		"health check good":           {changesOf(goodExcept("HealthCheckSucceeded True R")), "True Ready "},
		"gate good":                   {changesOf(goodExcept("G True R"), gates("G")), "True Ready "},
		"gate bad":                    {changesOf(goodExcept("G False R no"), gates("G")), "False NotReady * G: no"},
		"missing gate":                {changesOf(goodExcept(), gates("G")), "Unknown ReadyUnknown * G: Condition not yet reported"},
		"negative gate bad":           {changesOf(goodExcept("G True R no"), gates("!G")), "False NotReady * G: no"},
		"negative gate good":          {changesOf(goodExcept("G False R"), gates("!G")), "True Ready "},
		"control plane components with the same message": {
			changesOf(goodExcept("APIServerPodHealthy False R down", "SchedulerPodHealthy False R down", "EtcdPodHealthy False R down", "EtcdMemberHealthy False R down"),
				gates("APIServerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy", "EtcdMemberHealthy")),
			"False NotReady * Control plane components: down\n* EtcdMemberHealthy: down",
		},
		"components with different messages": {
			changesOf(goodExcept("APIServerPodHealthy False R down", "SchedulerPodHealthy False R up"), gates("APIServerPodHealthy", "SchedulerPodHealthy")),
			"False NotReady * APIServerPodHealthy: down\n* SchedulerPodHealthy: up",
		},
		"a single component": {changesOf(goodExcept("APIServerPodHealthy False R down"), gates("APIServerPodHealthy")), "False NotReady * APIServerPodHealthy: down"},
		"objects deleted with the Machine": {
			changesOf(deleted, goodExcept("Deleting True DeletingNode long text", "BootstrapConfigReady False ObjectDeleted gone", "InfrastructureReady False ObjectDoesNotExist gone", "NodeHealthy Unknown NodeDoesNotExist gone")),
			"False NotReady * Deleting: Machine deletion in progress, stage: DeletingNode",
		},
	}
	for name, test := range tests {
		c := readyCondition(newMachine(test.changes...), nil, began)
		if got := string(c.Status) + " " + c.Reason + " " + c.Message; got != test.want {
			t.Errorf("%s: Ready is\n%q, want\n%q", name, got, test.want)
		}
	}
}

// Behaviors MB103 of test/behaviours.
func TestReady_ReportsTheCausesOfALongDeletion(t *testing.T) {
	at := func(deleting, draining time.Duration) *machine {
		m := newMachine(deleted)
		m.DeletionTimestamp = pointer(metav1.NewTime(began.Add(-deleting)))
		m.Status.Deletion = &clusterv1alpha1.MachineDeletionStatus{NodeDrainStartTime: pointer(metav1.NewTime(began.Add(-draining)))}
		return m
	}
	causes := []string{"PodDisruptionBudgets", "Pods not terminating", "Pod eviction errors", "Pods not completed yet"}
	for name, test := range map[string]struct {
		m      *machine
		reason string
		want   string
	}{
		"short":       {at(15*time.Minute, 15*time.Minute), "DrainingNode", "Machine deletion in progress, stage: DrainingNode"},
		"long drain":  {at(16*time.Minute, 6*time.Minute), "DrainingNode", "Machine deletion in progress for more than 15m, stage: DrainingNode, delay likely due to " + strings.Join(causes, ", ")},
		"young drain": {at(16*time.Minute, 5*time.Minute), "DrainingNode", "Machine deletion in progress for more than 15m, stage: DrainingNode"},
		"long detach": {at(16*time.Minute, 6*time.Minute), "WaitingForVolumeDetach", "Machine deletion in progress for more than 15m, stage: WaitingForVolumeDetach"},
		"long hook":   {at(16*time.Minute, 6*time.Minute), "WaitingForPreTerminateHook", "Machine deletion in progress for more than 15m, stage: WaitingForPreTerminateHook"},
	} {
		if got := deletionSummary(test.m, test.reason, causes, began); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestLimitMessage_LimitsMessages(t *testing.T) {
	got := limitMessage("first\n" + strings.Repeat("x", 5000) + "\nlast")
	if len(got) > 4100 || !strings.HasPrefix(got, "first\nxxx") || strings.Contains(got, "last") {
		t.Errorf("%d bytes: %.20q…", len(got), got)
	}
	if got := limitMessage("a\n* b"); got != "a\n* b" {
		t.Errorf("got %q", got)
	}
}
