// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
)

// Connections runs the readiness probes that connect to guests. Prober implements it. Only Run may block.
type Connections interface {
	// Add starts or updates the probe of vm. It ends the probe if vm has no probe of this kind, does not run or has no
	// address. Add is called at every reconcile and keeps no reference to vm.
	Add(vm *vmv1alpha1.VirtualMachine)
	// Remove ends the probe of a virtual machine, if it has one.
	Remove(key types.NamespacedName)
	// Result returns the last result. known is false if there is none.
	Result(key types.NamespacedName) (ready, known bool, message string)
	// Run runs probes until ctx is done. It skips keys for which wanted returns false, and calls changed after each
	// result that differs from the previous one.
	Run(ctx context.Context, wanted func(types.NamespacedName) bool, changed func(types.NamespacedName))
}

// heartbeatRank is the order of the heartbeat colors.
var heartbeatRank = map[vmv1alpha1.GuestHeartbeatStatus]int{
	vmv1alpha1.GuestHeartbeatGray:   0,
	vmv1alpha1.GuestHeartbeatRed:    1,
	vmv1alpha1.GuestHeartbeatYellow: 2,
	vmv1alpha1.GuestHeartbeatGreen:  3,
}

// Reconciler determines the result of a virtual machine's readiness probe.
type Reconciler struct {
	// Connections is nil if this server does not connect to guests.
	Connections Connections
}

// Report is the result of Reconcile.
type Report struct {
	step.Report
	// Result is the result of the probe. It is True if there is no probe.
	Result metav1.Condition
}

// Reconcile returns the result of the virtual machine's readiness probe. It is called after the provider. The previous
// result is kept until there is a new one: after a restart of the server, only the status has it.
func (r *Reconciler) Reconcile(_ context.Context, s step.State) (Report, error) {
	if r.Connections != nil {
		r.Connections.Add(s.VM)
	}
	report := Report{Result: r.answer(s)}
	if s.VM.Spec.ReadinessProbe == nil {
		report.Remove(vmv1alpha1.ConditionProbeSucceeded)
	} else {
		report.Set(vmv1alpha1.ConditionProbeSucceeded, report.Result.Status, report.Result.Reason, report.Result.Message)
	}
	return report, nil
}

// Forget ends the probe of a virtual machine that is deleted.
func (r *Reconciler) Forget(key types.NamespacedName) {
	if r.Connections != nil {
		r.Connections.Remove(key)
	}
}

func (r *Reconciler) answer(s step.State) metav1.Condition {
	vm, spec := s.VM, s.VM.Spec.ReadinessProbe
	switch {
	case spec == nil:
		return succeeded
	case vm.Status.PowerState != vmv1alpha1.PoweredOn:
		return notReady(vmv1alpha1.ReasonPoweredOff, "the virtual machine is not running and is not probed")
	case spec.GuestHeartbeat != nil:
		return heartbeat(vm, spec.GuestHeartbeat.ThresholdStatus)
	case spec.TCPSocket != nil:
		return r.connectionResult(vm)
	case len(spec.GuestInfo) == 0:
		return succeeded
	case s.Observed.Observation == nil:
		return previousResult(vm, "spec.readinessProbe.guestInfo: ")
	}
	return guestInfo(spec.GuestInfo, s.Observed.Observation.GuestInfo)
}

var succeeded = metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func unknownResult(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

// connectionResult returns the result of the last connection to the guest.
func (r *Reconciler) connectionResult(vm *vmv1alpha1.VirtualMachine) metav1.Condition {
	const field = "spec.readinessProbe.tcpSocket: "
	if r.Connections == nil {
		return unknownResult(vmv1alpha1.ReasonUnsupported, field+"this server does not support readiness probes of this kind")
	}
	ready, known, message := r.Connections.Result(controller.KeyOf(vm))
	switch {
	case known && ready:
		return succeeded
	case known:
		return notReady(vmv1alpha1.ReasonNotReady, field+message)
	case !step.HasIP(vm) && vm.Spec.ReadinessProbe.TCPSocket.Host == "":
		return notReady(vmv1alpha1.ReasonWaitingForIP, field+"the guest has no address yet")
	}
	return previousResult(vm, field)
}

// previousResult returns the result of the current probe in the status, or Unknown if there is none.
func previousResult(vm *vmv1alpha1.VirtualMachine, field string) metav1.Condition {
	if c := conditions.Find(vm.Status.Conditions, vmv1alpha1.ConditionProbeSucceeded); c != nil && c.ObservedGeneration == vm.Generation &&
		(c.Reason == vmv1alpha1.ReasonSucceeded || c.Reason == vmv1alpha1.ReasonNotReady) {
		return metav1.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message}
	}
	return unknownResult(vmv1alpha1.ReasonNotReady, field+"the probe has not answered yet")
}

// heartbeat compares the observed heartbeat with the threshold.
func heartbeat(vm *vmv1alpha1.VirtualMachine, threshold vmv1alpha1.GuestHeartbeatStatus) metav1.Condition {
	if threshold == "" {
		threshold = vmv1alpha1.GuestHeartbeatGreen
	}
	observed := vmv1alpha1.GuestHeartbeatGray
	if vm.Status.Guest != nil && vm.Status.Guest.Heartbeat != "" {
		observed = vm.Status.Guest.Heartbeat
	}
	if heartbeatRank[observed] >= heartbeatRank[threshold] {
		return succeeded
	}
	return notReady(vmv1alpha1.ReasonNotReady,
		"spec.readinessProbe.guestHeartbeat: the heartbeat of the guest is "+string(observed)+", required is "+string(threshold))
}

// guestInfo compares the guest's variables with the expected expressions. Messages contain no values, because users who
// can read the status may not be allowed to read the variables.
func guestInfo(wanted []vmv1alpha1.GuestInfoAction, has map[string]string) metav1.Condition {
	no := func(i int, format string, args ...any) metav1.Condition {
		return notReady(vmv1alpha1.ReasonNotReady, fmt.Sprintf("spec.readinessProbe.guestInfo[%d]: ", i)+fmt.Sprintf(format, args...))
	}
	for i, action := range wanted {
		value, there := has[action.Key]
		switch {
		case !there:
			return no(i, "the guest has no variable guestinfo.%s", action.Key)
		case action.Value == "":
			continue
		case len(value) > validation.MaxGuestInfoValue:
			return no(i, "the value of guestinfo.%s has %d bytes, at most %d are compared", action.Key, len(value), validation.MaxGuestInfoValue)
		}
		expression, err := validation.CompileGuestInfo(action.Value)
		if err != nil {
			return no(i, "value: %v", err)
		}
		if !expression.MatchString(value) {
			return no(i, "the value of guestinfo.%s does not match %s", action.Key, action.Value)
		}
	}
	return succeeded
}
