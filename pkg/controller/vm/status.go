// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
)

// finishStatus computes the parts of the status that the controller owns, from the reports of the synchronizers and the
// provider.
func finishStatus(p *reconciliation, probed metav1.Condition) {
	p.mergeConditions()
	if !step.HasRunningInstance(p.VM) {
		p.VM.Status.RestartRequired = nil
	}
	instance.SetSize(&p.State)
	removeCreateConditions(p.VM)
	deriveStatus(p.VM)
	setReady(p.VM, probed, p.Now)
	setProgress(p.VM, p.Now)
	// Every condition has the generation that it was evaluated for. Conditions that this reconcile did not evaluate
	// have an earlier one. If an administrator paused the virtual machine, nothing of the spec has been applied.
	if !isTrue(p.VM, vmv1alpha1.ConditionPaused) {
		p.VM.Status.ObservedGeneration = p.VM.Generation
	}
	summarize(p.VM)
}

// deriveStatus sets the status fields that follow from other status fields.
func deriveStatus(vm *vmv1alpha1.VirtualMachine) {
	vm.Status.FailureDomain = vm.Status.Zone
	vm.Status.Addresses = addresses(vm)
	if isTrue(vm, vmv1alpha1.ConditionCreated) && vm.Status.PowerState == vmv1alpha1.PoweredOn && !waitsForIP(vm) {
		provisioned := true
		vm.Status.Initialization = &vmv1alpha1.VirtualMachineInitialization{Provisioned: &provisioned}
	}
}

// The limits of Cluster API for a Machine's addresses: the number of addresses and the length of each.
const (
	maxMachineAddresses = 256
	maxMachineAddress   = 256
)

// addresses returns the guest's host name and addresses in the form of the Cluster API contract. Primary addresses are
// first. Link-local and loopback addresses are omitted, because they cannot be reached. The limits are respected
// because otherwise a Machine would reject the whole list.
func addresses(vm *vmv1alpha1.VirtualMachine) []vmv1alpha1.MachineAddress {
	n := vm.Status.Network
	if n == nil {
		return nil
	}
	var all []vmv1alpha1.MachineAddress
	add := func(kind, address string) {
		a := vmv1alpha1.MachineAddress{Type: kind, Address: address}
		if address != "" && len(address) <= maxMachineAddress && len(all) < maxMachineAddresses && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	add("Hostname", n.HostName)
	add("InternalIP", n.PrimaryIP4)
	add("InternalIP", n.PrimaryIP6)
	for _, i := range n.Interfaces {
		for _, text := range i.IPAddresses {
			ip, _, _ := strings.Cut(text, "/")
			if parsed, err := netip.ParseAddr(ip); err == nil && !parsed.IsLinkLocalUnicast() && !parsed.IsLoopback() {
				add("InternalIP", ip)
			}
		}
	}
	return all
}

// reportPaused sets the condition that the virtual machine is paused, with the reason. If it is being deleted, Ready
// shows the reason too, as for everything that a deletion waits for.
func (p *reconciliation) reportPaused(message string) {
	p.Set(vmv1alpha1.ConditionPaused, metav1.ConditionTrue, vmv1alpha1.ReasonPaused, message)
	if p.VM.DeletionTimestamp != nil {
		p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonPaused, message)
	}
}

// summarize sets phase and printableStatus. No decision depends on them.
func summarize(vm *vmv1alpha1.VirtualMachine) {
	vm.Status.Phase = phaseOf(vm)
	vm.Status.PrintableStatus = printableStatus(vm, vm.Status.Phase)
}

// phaseOf returns a one-word summary of conditions and power states.
func phaseOf(vm *vmv1alpha1.VirtualMachine) vmv1alpha1.VirtualMachinePhase {
	if vm.DeletionTimestamp != nil {
		return vmv1alpha1.PhaseDeleting
	}
	if !isTrue(vm, vmv1alpha1.ConditionCreated) {
		created := findCondition(vm, vmv1alpha1.ConditionCreated)
		switch {
		case created == nil, created.Reason == vmv1alpha1.ReasonWaitingForPrerequisites, created.Reason == vmv1alpha1.ReasonTooManyCreates:
			return vmv1alpha1.PhasePending
		case created.Status == metav1.ConditionUnknown:
			return vmv1alpha1.PhaseUnknown
		case created.Reason == vmv1alpha1.ReasonError, created.Reason == vmv1alpha1.ReasonInvalid,
			created.Reason == vmv1alpha1.ReasonNotAllowed:
			return vmv1alpha1.PhaseFailed
		}
		return vmv1alpha1.PhaseCreating
	}
	desired, observed := vm.DesiredPowerState(vm.Status.PowerState), vm.Status.PowerState
	if isPowerChangeBlocked(vm) {
		desired = observed
	}
	switch {
	case desired == observed && observed == vmv1alpha1.PoweredOn:
		return vmv1alpha1.PhaseRunning
	case desired == observed && observed == vmv1alpha1.Suspended:
		return vmv1alpha1.PhaseSuspended
	case desired == observed:
		return vmv1alpha1.PhaseStopped
	case desired == vmv1alpha1.PoweredOn:
		return vmv1alpha1.PhaseStarting
	}
	return vmv1alpha1.PhaseStopping
}

// isPowerChangeBlocked reports whether a desired change of the power state is not being carried out: it is delayed, an
// annotation or powerPolicy blocks it, or it is impossible.
func isPowerChangeBlocked(vm *vmv1alpha1.VirtualMachine) bool {
	c := findCondition(vm, vmv1alpha1.ConditionPowerStateSynced)
	return c != nil && c.Status == metav1.ConditionFalse &&
		slices.Contains([]string{vmv1alpha1.ReasonDelayed, vmv1alpha1.ReasonHeldByCheck, vmv1alpha1.ReasonInvalid,
			vmv1alpha1.ReasonGuestShutdown, vmv1alpha1.ReasonStartRequired}, c.Reason)
}

// printableStatus returns the phase, or the reason why the virtual machine does not make progress.
func printableStatus(vm *vmv1alpha1.VirtualMachine, phase vmv1alpha1.VirtualMachinePhase) string {
	if phase != vmv1alpha1.PhaseDeleting && isTrue(vm, vmv1alpha1.ConditionPaused) {
		return vmv1alpha1.ReasonPaused
	}
	switch phase {
	case vmv1alpha1.PhaseDeleting:
		if c := findCondition(vm, vmv1alpha1.ConditionReady); c != nil && slices.Contains(deletionWaits, c.Reason) {
			return "Deletion" + c.Reason
		}
		return string(phase)
	case vmv1alpha1.PhaseUnknown:
		return findCondition(vm, vmv1alpha1.ConditionCreated).Reason
	case vmv1alpha1.PhasePending, vmv1alpha1.PhaseFailed:
		if missing := missingPrerequisite(vm); missing != "" {
			return missing
		}
		if phase == vmv1alpha1.PhaseFailed {
			return "CreateFailed"
		}
		return string(phase)
	default: // the VM exists, and its conditions have more details
	}
	if unreachable(vm) != nil {
		return vmv1alpha1.ReasonUnreachable
	}
	for _, conditionType := range []string{vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionGuestNetworkSynced} {
		c := findCondition(vm, conditionType)
		if c == nil || c.Status != metav1.ConditionFalse {
			continue
		}
		if missing := missingPrerequisite(vm); missing != "" && c.Reason == vmv1alpha1.ReasonWaitingForPrerequisites {
			return missing
		}
		if needsAttention[c.Reason] {
			return strings.TrimSuffix(conditionType, "Synced") + c.Reason
		}
	}
	if phase == vmv1alpha1.PhaseRunning {
		if waitsForIP(vm) {
			return vmv1alpha1.ReasonWaitingForIP
		}
		if waitsForTools(vm) {
			return vmv1alpha1.ReasonWaitingForTools
		}
		if len(vm.Status.RestartRequired) > 0 {
			return vmv1alpha1.ReasonRestartRequired
		}
	}
	return string(phase)
}

// missingPrerequisite returns the type and the reason of the first unmet prerequisite. It is empty if there is none.
func missingPrerequisite(vm *vmv1alpha1.VirtualMachine) string {
	switch c := unmetPrerequisite(vm); {
	case c == nil:
		return ""
	case c.Reason == vmv1alpha1.ReasonUnreachable:
		return c.Reason
	default:
		return strings.TrimSuffix(c.Type, "Ready") + c.Reason
	}
}

// creationOnly has the condition types of prerequisites that an existing virtual machine does not need.
var creationOnly = []string{vmv1alpha1.ConditionImageReady, vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ConditionImageCacheReady}

// removeCreateConditions removes the unmet prerequisites of creation from a virtual machine that exists. The condition
// of the image cache stays, because it records that disks were copied.
func removeCreateConditions(vm *vmv1alpha1.VirtualMachine) {
	if !isTrue(vm, vmv1alpha1.ConditionCreated) {
		return
	}
	for _, conditionType := range creationOnly {
		c := findCondition(vm, conditionType)
		if c != nil && c.Status != metav1.ConditionTrue && conditionType != vmv1alpha1.ConditionImageCacheReady {
			meta.RemoveStatusCondition(&vm.Status.Conditions, conditionType)
		}
	}
}

// unmetPrerequisite returns the first prerequisite condition of the next step that exists and is not True, or nil if
// there is none.
func unmetPrerequisite(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	exists := isTrue(vm, vmv1alpha1.ConditionCreated)
	for _, conditionType := range vmv1alpha1.CreatePrerequisites {
		if exists && slices.Contains(creationOnly, conditionType) {
			continue
		}
		if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
			return c
		}
	}
	return nil
}

// deletionWaits has the reasons of Ready for which a deletion does not continue by itself.
var deletionWaits = []string{vmv1alpha1.ReasonHeldByCheck, vmv1alpha1.ReasonUnreachable, vmv1alpha1.ReasonPaused}

// needsAttention has the condition reasons for which an existing virtual machine does not reach its spec by itself or
// not immediately.
var needsAttention = map[string]bool{
	vmv1alpha1.ReasonDelayed:       true,
	vmv1alpha1.ReasonBackOff:       true,
	vmv1alpha1.ReasonGuestShutdown: true,
	vmv1alpha1.ReasonStartRequired: true,
	vmv1alpha1.ReasonHeldByCheck:   true,
	vmv1alpha1.ReasonInvalid:       true,
	vmv1alpha1.ReasonError:         true,
	vmv1alpha1.ReasonNotAllowed:    true,
	vmv1alpha1.ReasonRecordNewer:   true,
	vmv1alpha1.ReasonNotApplied:    true,
}

// setReady summarizes the conditions in Ready.
func setReady(vm *vmv1alpha1.VirtualMachine, probed metav1.Condition, now time.Time) {
	c := readiness(vm, probed)
	setCondition(vm, now, vmv1alpha1.ConditionReady, c.Status, c.Reason, c.Message)
}

// readiness returns True if the virtual machine matches its spec. The probe's result is used last, and only if the
// virtual machine runs as desired.
func readiness(vm *vmv1alpha1.VirtualMachine, probed metav1.Condition) metav1.Condition {
	if !isTrue(vm, vmv1alpha1.ConditionCreated) {
		return addUnmetPrerequisite(vm, falseBecause(vm, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites))
	}
	if c := unreachable(vm); c != nil {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: c.Reason, Message: c.Message}
	}
	desired := vm.DesiredPowerState(vm.Status.PowerState)
	if desired != vm.Status.PowerState {
		return falseBecause(vm, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.PowerTransitionReason(desired))
	}
	if desired == vmv1alpha1.PoweredOff {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonPoweredOff}
	}
	if desired == vmv1alpha1.Suspended {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
	}
	if waitsForIP(vm) {
		return falseCondition(vmv1alpha1.ReasonWaitingForIP, "the guest has no address yet")
	}
	if waitsForTools(vm) {
		return falseCondition(vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run in the guest yet")
	}
	return probed
}

// unreachable returns the condition that vCenter has the virtual machine but cannot reach or read it, so that the
// status may be outdated. It returns nil if vCenter can read it.
func unreachable(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	c := findCondition(vm, vmv1alpha1.ConditionConfigurationSynced)
	if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != vmv1alpha1.ReasonUnknownState && c.Reason != vmv1alpha1.ReasonUnreachable {
		return nil
	}
	return c
}

// falseBecause returns False with the reason and message of another condition if that condition is not True.
func falseBecause(vm *vmv1alpha1.VirtualMachine, conditionType, reason string) metav1.Condition {
	if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
		return falseCondition(c.Reason, c.Message)
	}
	return falseCondition(reason, "")
}

func falseCondition(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// addUnmetPrerequisite adds the unmet prerequisite to the message of a virtual machine that waits for prerequisites. A
// Machine shows only the Ready condition of its virtual machine.
func addUnmetPrerequisite(vm *vmv1alpha1.VirtualMachine, v metav1.Condition) metav1.Condition {
	if v.Reason != vmv1alpha1.ReasonWaitingForPrerequisites {
		return v
	}
	if c := unmetPrerequisite(vm); c != nil {
		v.Message = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason))
	}
	return v
}

// waitsForTools reports whether readiness depends on VMware Tools and they do not run.
func waitsForTools(vm *vmv1alpha1.VirtualMachine) bool {
	wanted := vm.Spec.Bootstrap != nil && vm.Spec.Bootstrap.WaitForTools
	if p := vm.Spec.ReadinessProbe; p != nil && (p.GuestHeartbeat != nil || len(p.GuestInfo) > 0) {
		wanted = true
	}
	return wanted && (vm.Status.Guest == nil || !vm.Status.Guest.ToolsRunning)
}

// setProgress sets the conditions Stalled and Reconciling for tools that follow the kstatus convention. They show that
// vm cannot reach its spec, or has not reached it although it is ready. Both conditions exist only while they are True,
// and never at the same time.
func setProgress(vm *vmv1alpha1.VirtualMachine, now time.Time) {
	show := func(conditionType string, because *metav1.Condition) {
		if because != nil {
			message := because.Type + " is " + string(because.Status)
			if because.Message != "" {
				message += ": " + because.Message
			}
			because = &metav1.Condition{Reason: because.Reason, Message: message}
		}
		conditions.SetBecause(&vm.Status.Conditions, now, conditionType, vm.Generation, because)
	}
	stalled := findStall(vm)
	var unfinished *metav1.Condition
	if stalled == nil && isTrue(vm, vmv1alpha1.ConditionReady) {
		for _, conditionType := range []string{vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionGuestNetworkSynced} {
			if c := findCondition(vm, conditionType); unfinished == nil && c != nil && c.Status == metav1.ConditionFalse {
				unfinished = c
			}
		}
	}
	show(vmv1alpha1.ConditionStalled, stalled)
	show(vmv1alpha1.ConditionReconciling, unfinished)
}

// findStall returns a condition that no retry makes True, because a user must change an object first. Missing objects
// and failures do not stall: a missing object may be created soon, and failures are retried.
func findStall(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	for _, conditionType := range stallingConditions {
		c := findCondition(vm, conditionType)
		if c != nil && c.Status == metav1.ConditionFalse && slices.Contains(permanentReasons, c.Reason) {
			return c
		}
	}
	return nil
}

// stallingConditions has the conditions that a virtual machine needs to match its spec, in the order in which they are
// reported.
var stallingConditions = append(slices.Clone(vmv1alpha1.CreatePrerequisites),
	vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced,
	vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ConditionGuestNetworkSynced)

// permanentReasons has the reasons of conditions that stay False until a user changes an object.
var permanentReasons = []string{
	vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonNotAllowed, vmv1alpha1.ReasonUnsupported, vmv1alpha1.ReasonConflict, vmv1alpha1.ReasonRequirementsNotMet,
	vmv1alpha1.ReasonRecordNewer, vmv1alpha1.ReasonGuestShutdown, vmv1alpha1.ReasonStartRequired, vmv1alpha1.ReasonNotApplied,
}

// wantsNetwork returns false if the network is disabled. Without a network section, the VM has the default interface.
// If a preference determines whether there is an interface, the observed adapters are used.
func wantsNetwork(vm *vmv1alpha1.VirtualMachine) bool {
	n := vm.Spec.Network
	if vm.Spec.Preference == nil || n != nil && (n.Disabled || len(n.Interfaces) > 0) {
		return n == nil || !n.Disabled
	}
	return vm.Status.Network != nil && len(vm.Status.Network.Interfaces) > 0
}

func waitsForIP(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.PowerState == vmv1alpha1.PoweredOn && wantsNetwork(vm) && !step.HasIP(vm)
}

// setCondition sets a condition of vm with the given time.
func setCondition(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&vm.Status.Conditions, now, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: vm.Generation,
	})
}

func findCondition(vm *vmv1alpha1.VirtualMachine, conditionType string) *metav1.Condition {
	return conditions.Find(vm.Status.Conditions, conditionType)
}

func isTrue(vm *vmv1alpha1.VirtualMachine, conditionType string) bool {
	return conditions.IsTrue(vm.Status.Conditions, conditionType)
}
