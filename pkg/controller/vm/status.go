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

// finish computes, from what synchronizers and provider reported, the parts of the
// status that the controller owns.
func finish(p *pass, probed metav1.Condition) {
	p.merge()
	if !step.Runs(p.VM) {
		p.VM.Status.RestartRequired = nil
	}
	instance.ShowSize(&p.State)
	dropCreation(p.VM)
	derive(p.VM)
	setReady(p.VM, probed, p.Now)
	setProgress(p.VM, p.Now)
	// Every condition carries the generation that it was evaluated for; those that
	// this pass did not look at keep an earlier one. What is paused by an administrator
	// has got nothing of the spec.
	if !isTrue(p.VM, vmv1alpha1.ConditionPaused) {
		p.VM.Status.ObservedGeneration = p.VM.Generation
	}
	summarize(p.VM)
}

// derive fills what follows from other fields of the status.
func derive(vm *vmv1alpha1.VirtualMachine) {
	vm.Status.FailureDomain = vm.Status.Zone
	vm.Status.Addresses = addresses(vm)
	if isTrue(vm, vmv1alpha1.ConditionCreated) && vm.Status.PowerState == vmv1alpha1.PoweredOn && !waitsForIP(vm) {
		provisioned := true
		vm.Status.Initialization = &vmv1alpha1.VirtualMachineInitialization{Provisioned: &provisioned}
	}
}

// What a Machine of Cluster API takes of addresses: how many, and how long each.
const (
	maxMachineAddresses = 256
	maxMachineAddress   = 256
)

// addresses are the host name and the addresses of the guest in the form of the
// Cluster API contract, the primary ones first. Link-local ones lead nowhere. A Machine would
// take none of them if it could not take all.
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

// paused reports that nothing is done, and why. Ready of a virtual machine that is deleted says so too, as it does of
// all that its deletion waits for.
func (p *pass) paused(message string) {
	p.Set(vmv1alpha1.ConditionPaused, metav1.ConditionTrue, vmv1alpha1.ReasonPaused, message)
	if p.VM.DeletionTimestamp != nil {
		p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonPaused, message)
	}
}

// summarize sets phase and printableStatus, which nothing decides by.
func summarize(vm *vmv1alpha1.VirtualMachine) {
	vm.Status.Phase = phaseOf(vm)
	vm.Status.PrintableStatus = printableStatus(vm, vm.Status.Phase)
}

// phaseOf is the one-word summary of conditions and power states.
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
	if standsStill(vm) {
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

// standsStill says whether a change of power state is wanted that nobody works on:
// its time has not come, an annotation or its powerPolicy holds it, or it is impossible.
func standsStill(vm *vmv1alpha1.VirtualMachine) bool {
	c := findCondition(vm, vmv1alpha1.ConditionPowerStateSynced)
	return c != nil && c.Status == metav1.ConditionFalse &&
		slices.Contains([]string{vmv1alpha1.ReasonDelayed, vmv1alpha1.ReasonHeldByCheck, vmv1alpha1.ReasonInvalid,
			vmv1alpha1.ReasonGuestShutdown, vmv1alpha1.ReasonStartRequired}, c.Reason)
}

// printableStatus is the phase, or the reason why the virtual machine does not get
// on.
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
	default: // the VM is there, and its conditions say more
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

// missingPrerequisite names the first thing that a virtual machine lacks, and why;
// it is empty when nothing is known to be lacking.
func missingPrerequisite(vm *vmv1alpha1.VirtualMachine) string {
	switch c := unmet(vm); {
	case c == nil:
		return ""
	case c.Reason == vmv1alpha1.ReasonUnreachable:
		return c.Reason
	default:
		return strings.TrimSuffix(c.Type, "Ready") + c.Reason
	}
}

// creationOnly are the types of the prerequisites that a virtual machine which exists does not need.
var creationOnly = []string{vmv1alpha1.ConditionImageReady, vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ConditionImageCacheReady}

// dropCreation removes the conditions that say what a creation waits for from a virtual machine that exists. The
// one of the image cache stays: it records that disks were copied.
func dropCreation(vm *vmv1alpha1.VirtualMachine) {
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

// unmet returns the condition of the first prerequisite of the next step that is there and is not True, nil for none.
func unmet(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
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

// deletionWaits are the reasons of Ready for which a deletion does not proceed by itself.
var deletionWaits = []string{vmv1alpha1.ReasonHeldByCheck, vmv1alpha1.ReasonUnreachable, vmv1alpha1.ReasonPaused}

// needsAttention are the reasons for which a virtual machine that exists does not
// become what its spec says by itself and at once.
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

// setReady sums the conditions up in Ready.
func setReady(vm *vmv1alpha1.VirtualMachine, probed metav1.Condition, now time.Time) {
	c := readiness(vm, probed)
	setCondition(vm, now, vmv1alpha1.ConditionReady, c.Status, c.Reason, c.Message)
}

// readiness is True when the virtual machine is as its spec wants it. probed is
// asked last, and only of one that runs as desired.
func readiness(vm *vmv1alpha1.VirtualMachine, probed metav1.Condition) metav1.Condition {
	if !isTrue(vm, vmv1alpha1.ConditionCreated) {
		return naming(vm, because(vm, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites))
	}
	if c := unreachable(vm); c != nil {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: c.Reason, Message: c.Message}
	}
	desired := vm.DesiredPowerState(vm.Status.PowerState)
	if desired != vm.Status.PowerState {
		return because(vm, vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.TransitionTo(desired))
	}
	if desired == vmv1alpha1.PoweredOff {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonPoweredOff}
	}
	if desired == vmv1alpha1.Suspended {
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}
	}
	if waitsForIP(vm) {
		return isFalse(vmv1alpha1.ReasonWaitingForIP, "the guest has no address yet")
	}
	if waitsForTools(vm) {
		return isFalse(vmv1alpha1.ReasonWaitingForTools, "VMware Tools does not run in the guest yet")
	}
	return probed
}

// unreachable returns what says that vCenter has the virtual machine and cannot reach or
// read it, so that what status tells is of an earlier time; nil when it can.
func unreachable(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	c := findCondition(vm, vmv1alpha1.ConditionConfigurationSynced)
	if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != vmv1alpha1.ReasonUnknownState && c.Reason != vmv1alpha1.ReasonUnreachable {
		return nil
	}
	return c
}

// because is False with reason and message of another condition if that is False.
func because(vm *vmv1alpha1.VirtualMachine, conditionType, reason string) metav1.Condition {
	if c := findCondition(vm, conditionType); c != nil && c.Status != metav1.ConditionTrue {
		return isFalse(c.Reason, c.Message)
	}
	return isFalse(reason, "")
}

func isFalse(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// naming tells of a virtual machine that waits for prerequisites which it lacks: a Machine shows
// no other condition of it than Ready.
func naming(vm *vmv1alpha1.VirtualMachine, v metav1.Condition) metav1.Condition {
	if v.Reason != vmv1alpha1.ReasonWaitingForPrerequisites {
		return v
	}
	if c := unmet(vm); c != nil {
		v.Message = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason))
	}
	return v
}

// waitsForTools says whether readiness depends on VMware Tools, which do not run.
func waitsForTools(vm *vmv1alpha1.VirtualMachine) bool {
	wanted := vm.Spec.Bootstrap != nil && vm.Spec.Bootstrap.WaitForTools
	if p := vm.Spec.ReadinessProbe; p != nil && (p.GuestHeartbeat != nil || len(p.GuestInfo) > 0) {
		wanted = true
	}
	return wanted && (vm.Status.Guest == nil || !vm.Status.Guest.ToolsRunning)
}

// setProgress tells tools that follow the kstatus convention what Ready does not: that
// vm cannot become what its spec says, or has yet to, although it is ready. Both
// conditions are there only while they are True, and never both.
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
	stalled := stalls(vm)
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

// stalls returns a condition that no retry makes true, because somebody has to change an
// object first. What does not exist may be about to be made, and what failed is retried:
// neither stalls.
func stalls(vm *vmv1alpha1.VirtualMachine) *metav1.Condition {
	for _, conditionType := range stallingConditions {
		c := findCondition(vm, conditionType)
		if c != nil && c.Status == metav1.ConditionFalse && slices.Contains(permanentReasons, c.Reason) {
			return c
		}
	}
	return nil
}

// stallingConditions are those without which a virtual machine is not what its spec says,
// in the order in which they are worth telling.
var stallingConditions = append(slices.Clone(vmv1alpha1.CreatePrerequisites),
	vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced,
	vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ConditionGuestNetworkSynced)

// permanentReasons are those of a condition that stays False until somebody changes an
// object.
var permanentReasons = []string{
	vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonNotAllowed, vmv1alpha1.ReasonUnsupported, vmv1alpha1.ReasonConflict, vmv1alpha1.ReasonRequirementsNotMet,
	vmv1alpha1.ReasonRecordNewer, vmv1alpha1.ReasonGuestShutdown, vmv1alpha1.ReasonStartRequired, vmv1alpha1.ReasonNotApplied,
}

// wantsNetwork is false when the network is disabled: no network section means the
// default interface. Where a preference decides whether there is one, the adapters tell.
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

// setCondition sets a condition of vm as seen at now.
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
