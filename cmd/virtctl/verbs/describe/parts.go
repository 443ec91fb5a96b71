// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/events"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// badWhenTrue are the conditions that report a problem if they are True.
var badWhenTrue = []string{vmv1alpha1.ConditionPaused, vmv1alpha1.ConditionReconciling, vmv1alpha1.ConditionStalled, vmv1alpha1.ConditionDeleting}

// unfulfilled returns the causes among the conditions that are not fulfilled, or the summary conditions if there are
// no causes.
func unfulfilled(all []metav1.Condition) []metav1.Condition {
	var causes, sums []metav1.Condition
	for _, c := range all {
		switch {
		case c.Status != metav1.ConditionUnknown && (c.Status == metav1.ConditionTrue) != slices.Contains(badWhenTrue, c.Type):
		case c.Type == vmv1alpha1.ConditionReady, c.Reason == vmv1alpha1.ReasonWaitingForPrerequisites:
			sums = append(sums, c)
		default:
			causes = append(causes, c)
		}
	}
	if slices.ContainsFunc(causes, ofSize) {
		causes = slices.DeleteFunc(causes, func(c metav1.Condition) bool { return c.Type == vmv1alpha1.ConditionSynchronized })
	}
	if len(causes) > 0 {
		return causes
	}
	return sums
}

// ofSize reports whether a condition is about the source of the size or the preference, which Synchronized only
// repeats. Events omit it as well.
func ofSize(c metav1.Condition) bool {
	return slices.Contains([]string{vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ConditionPreferenceReady, vmv1alpha1.ConditionClassReady}, c.Type)
}

// Waiting shows the unfulfilled conditions with their reasons.
func (l *look) Waiting(w io.Writer) bool {
	all := unfulfilled(l.vm.Status.Conditions)
	if l.vm.DeletionTimestamp == nil && len(all) == 0 {
		switch {
		case len(l.vm.Status.Conditions) == 0:
			cli.Row(w, "The server has not reconciled it yet.")
		default:
			cli.Row(w, "All conditions are fulfilled.")
		}
		return true
	}
	cli.Row(w, "WAITING FOR", "REASON", "FOR", "MESSAGE")
	if t := l.vm.DeletionTimestamp; t != nil {
		cli.Row(w, "deletion", "", cli.Age(l.now, t), "finalizers: "+cli.Clipped(strings.Join(l.vm.Finalizers, ", "), describedMessage))
	}
	for _, c := range all {
		cli.Row(w, c.Type+"="+string(c.Status), c.Reason, cli.Age(l.now, &c.LastTransitionTime), conditions.TruncateLine(c.Message, describedMessage))
	}
	if len(l.vm.Status.RestartRequired) > 0 {
		cli.Row(w, fmt.Sprintf("Restart to apply pending changes: %s restart %s", l.program, l.vm.Name))
	}
	return true
}

// deed is a completed operation.
type deed struct {
	what string
	when *metav1.Time
}

// done shows the latest operations, the newest first.
func (l *look) done(w io.Writer) bool {
	s := &l.vm.Status
	all := []deed{{"created in vSphere", s.CreationTime}, {"restarted on request", s.LastRestartTime}, {"deletion requested", l.vm.DeletionTimestamp}}
	if s.Guest != nil {
		all = append(all, deed{"powered on", s.Guest.BootTime})
	}
	for _, turned := range [][2]string{
		{vmv1alpha1.ConditionConfigurationSynced, "configured"},
		{vmv1alpha1.ConditionPowerStateSynced, "power state changed"},
		{vmv1alpha1.ConditionSnapshotSynced, "reverted to a snapshot"},
		{vmv1alpha1.ConditionGuestCustomized, "guest customized"},
	} {
		if c := conditions.Find(s.Conditions, turned[0]); c != nil && c.Status == metav1.ConditionTrue {
			all = append(all, deed{turned[1], &c.LastTransitionTime})
		}
	}
	for i := range s.Snapshots {
		if n := &s.Snapshots[i]; n.UniqueID == newestSnapshot(s.Snapshots) {
			all = append(all, deed{"snapshot " + cli.Clipped(n.Name, events.MaxName) + " taken", n.CreationTime})
		}
	}
	all = slices.DeleteFunc(all, func(d deed) bool { return d.when.IsZero() })
	if len(all) == 0 {
		return false
	}
	slices.SortStableFunc(all, func(a, b deed) int { return b.when.Compare(a.when.Time) })
	cli.Row(w, "LAST OPERATION", "WHEN")
	for _, d := range all {
		cli.Row(w, d.what, l.since(d.when))
	}
	return true
}

func newestSnapshot(all []vmv1alpha1.VirtualMachineSnapshotNode) string {
	var newest *vmv1alpha1.VirtualMachineSnapshotNode
	for i := range all {
		if all[i].CreationTime != nil && (newest == nil || newest.CreationTime.Before(all[i].CreationTime)) {
			newest = &all[i]
		}
	}
	if newest == nil {
		return ""
	}
	return newest.UniqueID
}

// desired shows the desired and the running configuration.
func (l *look) desired(w io.Writer) bool {
	s := &l.vm.Status
	wanted := cmp.Or(l.vm.Spec.PowerState, s.InheritedPowerState)
	cli.Row(w, "FIELD", "DESIRED", "RUNNING", "STATE")
	compared(w, "powerState", string(wanted), string(s.PowerState), false)
	running, desired := s.Resources, cmp.Or(s.DesiredResources, s.Resources)
	sizeKnown := running != nil && desired != nil
	if sizeKnown {
		if s.UniqueID == "" { // resources apply when the VM is created
			running = &vmv1alpha1.VirtualMachineResources{}
		}
		compared(w, "vCPUs", counted(desired.VCPUs), counted(running.VCPUs), restarts(s.RestartRequired, "cpu"))
		compared(w, "memory", cli.BytesOf(desired.Memory), cli.BytesOf(running.Memory), restarts(s.RestartRequired, "memory"))
	}
	if l.instance != nil {
		runningRevision(w, "instancetype", refOf(s.InstancetypeRef), l.instance.Spec.Instancetype)
		runningRevision(w, "preference", preferenceOf(s.PreferenceRef), l.instance.Spec.Preference)
	}
	for _, r := range s.RestartRequired {
		if sizeKnown && (r.Path == "memory.guest" || cpuCount[r.Path] && running.VCPUs != desired.VCPUs) {
			continue // The row vCPUs or memory shows it.
		}
		cli.Row(w, r.Path, cli.Dash(cli.Clipped(r.Desired, events.MaxName)), cli.Dash(cli.Clipped(r.Running, events.MaxName)), waitsForRestart)
	}
	return true
}

// cpuCount has the paths of the fields that determine the number of vCPUs.
var cpuCount = map[string]bool{"cpu.sockets": true, "cpu.cores": true, "cpu.threads": true}

// waitsForRestart marks a change that requires a power cycle.
const waitsForRestart = "requires a restart"

// restarts reports whether a change below a path requires a restart.
func restarts(all []vmv1alpha1.RestartRequirement, path string) bool {
	return slices.ContainsFunc(all, func(r vmv1alpha1.RestartRequirement) bool { return strings.HasPrefix(r.Path, path+".") })
}

// compared prints a field. A desired value that is not running yet is marked.
func compared(w io.Writer, field, desired, running string, restart bool) {
	state := "same"
	switch {
	case desired == running || desired == "":
	case restart:
		state = waitsForRestart
	default:
		state = "not yet"
	}
	cli.Row(w, field, cli.Dash(desired), cli.Dash(running), state)
}

// runningRevision prints the pinned and the running revision if they differ.
func runningRevision(w io.Writer, field string, captured *capturedRef, runs *vmv1alpha1.AppliedRevision) {
	if captured == nil || runs == nil || captured.revision == "" || runs.RevisionName == "" || captured.revision == runs.RevisionName {
		return
	}
	cli.Row(w, field, captured.revision, runs.RevisionName, "not yet")
}

// Newest shows the newest events.
func (l *look) Newest(w io.Writer) bool {
	if l.unknown != nil {
		cli.Row(w, "Events cannot be read: "+cli.Clipped(l.unknown.Error(), describedMessage))
		return false
	}
	shown := l.events
	if earlier := len(shown) - describedEvents; earlier > 0 {
		shown = shown[earlier:]
	}
	if len(shown) == 0 {
		cli.Row(w, "No events.")
		return false
	}
	cli.Row(w, "EVENT", "TYPE", "SEEN", "OF", "MESSAGE")
	for i := range shown {
		e := &shown[i]
		of := strings.ToLower(cli.Clipped(e.InvolvedObject.Kind, events.MaxName)) + "/" + cli.Clipped(e.InvolvedObject.Name, events.MaxName)
		if e.InvolvedObject.Kind == "VirtualMachine" {
			of = "-"
		}
		seen := metav1.NewTime(events.EventTime(e))
		cli.Row(w, cli.Clipped(e.Reason, events.MaxName), cli.Clipped(e.Type, events.MaxName), cli.Age(l.now, &seen), of, cli.Clipped(events.EventMessage(e), describedMessage))
	}
	if earlier := len(l.events) - len(shown); earlier > 0 {
		cli.Row(w, fmt.Sprintf("%d earlier: %s events %s", earlier, l.program, l.vm.Name))
	}
	return false
}
