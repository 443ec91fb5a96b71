// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// Prober runs the readiness probes that need to connect to the guest. None of its
// methods but Run may block.
type Prober interface {
	// Add starts or updates the probe of vm, or ends it if vm has none of the kind, does
	// not run, or has no address. It is called at every pass, and keeps nothing of vm.
	Add(vm *vmv1alpha1.VirtualMachine)
	// Remove ends the probe of a virtual machine, if there is one.
	Remove(key types.NamespacedName)
	// Result returns the last answer. Known is false as long as there is none.
	Result(key types.NamespacedName) (ready, known bool, message string)
	// Run probes, until ctx is done, those that are wanted at the time, and calls changed
	// for every answer that is not as the one before.
	Run(ctx context.Context, wanted func(types.NamespacedName) bool, changed func(types.NamespacedName))
}

// heartbeatRank orders the colours of the heartbeat.
var heartbeatRank = map[vmv1alpha1.GuestHeartbeatStatus]int{
	vmv1alpha1.GuestHeartbeatGray:   0,
	vmv1alpha1.GuestHeartbeatRed:    1,
	vmv1alpha1.GuestHeartbeatYellow: 2,
	vmv1alpha1.GuestHeartbeatGreen:  3,
}

// probe says what the readiness probe of the virtual machine, if it has one, says now. The
// answer of before holds until there is another: after a restart of the server nobody knows
// more than status does.
func (r *reconciler) probe(p *pass) verdict {
	vm, spec := p.vm, p.vm.Spec.ReadinessProbe
	switch {
	case spec == nil:
		return verdict{status: metav1.ConditionTrue, reason: vmv1alpha1.ReasonSucceeded}
	case vm.Status.PowerState != vmv1alpha1.PoweredOn:
		return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonPoweredOff, "the virtual machine does not run, and is not probed"}
	case spec.GuestHeartbeat != nil:
		return heartbeat(vm, spec.GuestHeartbeat.ThresholdStatus)
	case spec.TCPSocket != nil:
		return r.connect(vm)
	case len(spec.GuestInfo) > 0 && !p.guestInfoKnown:
		return earlier(vm, "spec.readinessProbe.guestInfo: ")
	}
	return guestInfo(spec.GuestInfo, p.guestInfo)
}

// connect says what the last connection to the guest has found.
func (r *reconciler) connect(vm *vmv1alpha1.VirtualMachine) verdict {
	const field = "spec.readinessProbe.tcpSocket: "
	if r.prober == nil {
		return verdict{metav1.ConditionUnknown, vmv1alpha1.ReasonUnsupported, field + "this server runs no readiness probes of this kind"}
	}
	ready, known, message := r.prober.Result(types.NamespacedName{Namespace: vm.Namespace, Name: vm.Name})
	switch {
	case known && ready:
		return verdict{status: metav1.ConditionTrue, reason: vmv1alpha1.ReasonSucceeded}
	case known:
		return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonNotReady, field + message}
	case !hasIP(vm) && vm.Spec.ReadinessProbe.TCPSocket.Host == "":
		return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonWaitingForIP, field + "the guest has no address yet"}
	}
	return earlier(vm, field)
}

// earlier is the answer that status has of this very probe, or that there is none yet.
func earlier(vm *vmv1alpha1.VirtualMachine, field string) verdict {
	if c := findCondition(vm, vmv1alpha1.ConditionProbeSucceeded); c != nil && c.ObservedGeneration == vm.Generation &&
		(c.Reason == vmv1alpha1.ReasonSucceeded || c.Reason == vmv1alpha1.ReasonNotReady) {
		return verdict{c.Status, c.Reason, c.Message}
	}
	return verdict{metav1.ConditionUnknown, vmv1alpha1.ReasonNotReady, field + "the probe has not answered yet"}
}

// heartbeat compares the heartbeat that was observed with the threshold.
func heartbeat(vm *vmv1alpha1.VirtualMachine, threshold vmv1alpha1.GuestHeartbeatStatus) verdict {
	if threshold == "" {
		threshold = vmv1alpha1.GuestHeartbeatGreen
	}
	observed := vmv1alpha1.GuestHeartbeatGray
	if vm.Status.Guest != nil && vm.Status.Guest.Heartbeat != "" {
		observed = vm.Status.Guest.Heartbeat
	}
	if heartbeatRank[observed] >= heartbeatRank[threshold] {
		return verdict{status: metav1.ConditionTrue, reason: vmv1alpha1.ReasonSucceeded}
	}
	return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonNotReady,
		"spec.readinessProbe.guestHeartbeat: the heartbeat of the guest is " + string(observed) + ", wanted is " + string(threshold)}
}

// guestInfo compares the variables that the guest has with the expressions for them. It says
// no value: those who may read status need not be those who may read the variables.
func guestInfo(wanted []vmv1alpha1.GuestInfoAction, has map[string]string) verdict {
	no := func(i int, format string, args ...any) verdict {
		return verdict{metav1.ConditionFalse, vmv1alpha1.ReasonNotReady, fmt.Sprintf("spec.readinessProbe.guestInfo[%d]: ", i) + fmt.Sprintf(format, args...)}
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
	return verdict{status: metav1.ConditionTrue, reason: vmv1alpha1.ReasonSucceeded}
}

// setProbed shows what the probe says, and returns it. There is no condition without a probe.
func setProbed(vm *vmv1alpha1.VirtualMachine, v verdict, now time.Time) verdict {
	if vm.Spec.ReadinessProbe == nil {
		meta.RemoveStatusCondition(&vm.Status.Conditions, vmv1alpha1.ConditionProbeSucceeded)
		return v
	}
	setCondition(vm, now, vmv1alpha1.ConditionProbeSucceeded, v.status, v.reason, v.message)
	return v
}
