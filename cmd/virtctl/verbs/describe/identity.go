// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// identity shows the identity and the location of the virtual machine.
func (l *look) identity(w io.Writer) bool {
	vm, s := l.vm, &l.vm.Status
	for _, line := range [][2]string{
		{"Name", vm.Name}, {"Namespace", vm.Namespace},
		{"Status", StateOf(vm)}, {"Ready", l.readiness()},
		{"Instance type", l.captured("instancetype", refOf(s.InstancetypeRef), wantedInstancetype(vm.Spec.Instancetype))},
		{"Class", className(vm)},
		{"Preference", l.captured("preference", preferenceOf(s.PreferenceRef), wantedPreference(vm.Spec.Preference))},
		{"Size", resourcesOf(s.Resources)}, {"Image", imageOf(vm.Spec.Image)}, {"Guest", guestOf(s.Guest)},
		{"Address", addressesOf(s.Network)}, {"Zone", s.Zone}, {"Host", s.NodeName}, {"Storage", storageOf(s.Storage)},
		{"Snapshots", snapshotsOf(s)}, {"Group", vm.Spec.GroupName}, {"Machine", machineOf(s.Machine)},
		{"In vSphere", inVSphere(s)}, {"Created", l.since(&vm.CreationTimestamp)},
	} {
		if line[1] != "" {
			cli.Row(w, line[0]+":", conditions.TruncateLine(line[1], describedMessage))
		}
	}
	return true
}

// StateOf returns the STATUS of kubectl get and the power state.
func StateOf(vm *vmv1alpha1.VirtualMachine) string {
	status := cmp.Or(vm.Status.PrintableStatus, string(vm.Status.Phase), "Pending")
	if vm.DeletionTimestamp != nil && vm.Status.PrintableStatus == "" {
		status = "Deleting"
	}
	if power := string(vm.Status.PowerState); power != "" {
		status += ", " + power
	}
	return status
}

func (l *look) readiness() string {
	c := conditions.Find(l.vm.Status.Conditions, vmv1alpha1.ConditionReady)
	if c == nil {
		return ""
	}
	text := string(c.Status)
	if c.Status != metav1.ConditionTrue || c.Reason == vmv1alpha1.ReasonPoweredOff {
		text += " (" + c.Reason + ")"
	}
	return text + ", for " + cli.Age(l.now, &c.LastTransitionTime)
}

// capturedRef is the common part of the pinned instance type and preference in status.
type capturedRef struct {
	name, kind, revision string
	generation, latest   int64
	outdated             bool
}

func refOf(r *vmv1alpha1.InstancetypeRef) *capturedRef {
	if r == nil {
		return nil
	}
	return &capturedRef{r.Name, r.Kind, revisionName(r.ControllerRevisionRef), r.SourceGeneration, r.LatestGeneration, r.Outdated}
}

func preferenceOf(r *vmv1alpha1.PreferenceRef) *capturedRef {
	if r == nil {
		return nil
	}
	return &capturedRef{r.Name, r.Kind, revisionName(r.ControllerRevisionRef), r.SourceGeneration, r.LatestGeneration, r.Outdated}
}

func revisionName(r *vmv1alpha1.ControllerRevisionRef) string {
	if r == nil {
		return ""
	}
	return r.Name
}

// wantedInstancetype returns the name in the spec, or ofTheImage if it is inferred, or an empty string.
func wantedInstancetype(m *vmv1alpha1.InstancetypeMatcher) string {
	if m == nil {
		return ""
	}
	return cmp.Or(m.Name, ofTheImage)
}

func wantedPreference(m *vmv1alpha1.PreferenceMatcher) string {
	if m == nil {
		return ""
	}
	return cmp.Or(m.Name, ofTheImage)
}

// ofTheImage is shown for a name that is inferred from the image's labels.
const ofTheImage = "inferred from the image"

// captured describes the pinned generation of an instance type or preference, and whether it is outdated.
func (l *look) captured(what string, r *capturedRef, wanted string) string {
	switch {
	case r == nil && wanted != "":
		return wanted + ", not pinned yet"
	case r == nil || r.name == "":
		return ""
	}
	text := r.name
	if !strings.Contains(r.kind, "cluster") {
		text += " (namespaced)"
	}
	if r.generation > 0 {
		text += fmt.Sprintf(", generation %d", r.generation)
	}
	switch {
	case r.outdated && r.latest == 0:
		text += ", OUTDATED: deleted since"
	case r.outdated && r.latest == r.generation:
		text += fmt.Sprintf(", OUTDATED: deleted and recreated since, see %s refresh %s %s --dry-run", l.program, what, l.vm.Name)
	case r.outdated:
		text += fmt.Sprintf(", OUTDATED: generation %d is available, see %s refresh %s %s --dry-run", r.latest, l.program, what, l.vm.Name)
	}
	return text
}

func className(vm *vmv1alpha1.VirtualMachine) string {
	if c := vm.Status.Class; c != nil {
		return fmt.Sprintf("%s, generation %d", c.Name, c.Generation)
	}
	return vm.Spec.ClassName
}

// resourcesOf formats a size.
func resourcesOf(r *vmv1alpha1.VirtualMachineResources) string {
	if r == nil {
		return ""
	}
	vcpus := counted(r.VCPUs)
	if vcpus != "" {
		vcpus += " vCPU"
	}
	return joined(", ", vcpus, cli.BytesOf(r.Memory))
}

// counted formats a number, empty for 0.
func counted(n int32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func imageOf(i *vmv1alpha1.VirtualMachineImageRef) string {
	switch {
	case i == nil:
		return ""
	case i.Kind == vmv1alpha1.ClusterImageKind:
		return i.Name + " (cluster-scoped)"
	case i.Kind == vmv1alpha1.MachineMemberKind && i.Snapshot != "":
		return fmt.Sprintf("clone of %s at snapshot %s", i.Name, i.Snapshot)
	case i.Kind == vmv1alpha1.MachineMemberKind:
		return "clone of " + i.Name
	}
	return i.Name
}

func guestOf(g *vmv1alpha1.VirtualMachineGuestStatus) string {
	if g == nil {
		return ""
	}
	tools := "VMware Tools not running"
	if g.ToolsRunning {
		tools = joined(" ", "VMware Tools", g.ToolsVersion, "running")
	}
	heartbeat := ""
	if g.Heartbeat != "" {
		heartbeat = "heartbeat " + string(g.Heartbeat)
	}
	return joined(", ", cmp.Or(g.GuestFullName, g.GuestID), tools, heartbeat)
}

func addressesOf(n *vmv1alpha1.VirtualMachineNetworkStatus) string {
	if n == nil {
		return ""
	}
	text := joined(", ", n.PrimaryIP4, n.PrimaryIP6)
	if n.HostName != "" {
		text = joined(" ", text, "("+n.HostName+")")
	}
	return text
}

func storageOf(s *vmv1alpha1.VirtualMachineStorageStatus) string {
	if s == nil || s.Committed == nil {
		return ""
	}
	text := cli.AmountOf(s.Committed) + " in use"
	if s.Provisioned != nil {
		text += " of up to " + cli.AmountOf(s.Provisioned)
	}
	return text
}

func snapshotsOf(s *vmv1alpha1.VirtualMachineStatus) string {
	switch {
	case len(s.Snapshots) == 0:
		return ""
	case s.CurrentSnapshot != "":
		return fmt.Sprintf("%d, current: %s", len(s.Snapshots), s.CurrentSnapshot)
	}
	return fmt.Sprint(len(s.Snapshots))
}

func machineOf(m *vmv1alpha1.VirtualMachineOwner) string {
	if m == nil {
		return ""
	}
	return m.Name + " of " + m.APIGroup
}

func inVSphere(s *vmv1alpha1.VirtualMachineStatus) string {
	hardware, uuid := "", ""
	if s.HardwareVersion > 0 {
		hardware = fmt.Sprintf("vmx-%d", s.HardwareVersion)
	}
	if s.InstanceUUID != "" {
		uuid = "instance UUID " + s.InstanceUUID
	}
	return joined(", ", s.UniqueID, hardware, uuid)
}

// joined joins the texts that are not empty.
func joined(separator string, parts ...string) string {
	var there []string
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, separator)
}
