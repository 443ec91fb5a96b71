// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// stable returns a virtual machine that needs no changes.
func stable(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", UID: "uid-vm", Generation: 1},
		Spec: vmv1alpha1.VirtualMachineSpec{
			PowerState:       vmv1alpha1.PoweredOn,
			Network:          &vmv1alpha1.VirtualMachineNetworkSpec{},
			PromoteDisksMode: vmv1alpha1.PromoteDisksModeOnline,
		},
		Status: vmv1alpha1.VirtualMachineStatus{
			PowerState: vmv1alpha1.PoweredOn,
			Network:    &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: "192.0.2.7"},
			Conditions: []metav1.Condition{
				{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue},
				{Type: vmv1alpha1.ConditionDiskPromotionSynced, Status: metav1.ConditionTrue},
			},
		},
	}
	for _, f := range change {
		f(vm)
	}
	return vm
}

func override(value string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Annotations = map[string]string{vmv1alpha1.AnnotationReconcilePriority: value}
	}
}

func deleting(vm *vmv1alpha1.VirtualMachine) {
	vm.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
}

func condition(conditionType string, status metav1.ConditionStatus) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		setCondition(vm, time.Unix(0, 0), conditionType, status, "Test", "")
	}
}

func withoutConditions(vm *vmv1alpha1.VirtualMachine) { vm.Status.Conditions = nil }

func power(spec, status vmv1alpha1.PowerState) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.PowerState, vm.Status.PowerState = spec, status
	}
}

func ips(v4, v6 string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: v4, PrimaryIP6: v6}
	}
}

func TestPriority_DependsOnTheState(t *testing.T) {
	type change = func(*vmv1alpha1.VirtualMachine)
	const (
		on, off, suspended = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended
		fallback           = -42
	)
	noPromotion := condition(vmv1alpha1.ConditionDiskPromotionSynced, metav1.ConditionFalse)
	tests := map[string]struct {
		changes []change
		want    int
		invalid bool
	}{
		"stable uses the fallback": {nil, fallback, false},

		"override takes precedence":   {[]change{override("7"), deleting, withoutConditions}, 7, false},
		"override may be negative":    {[]change{override("-5"), withoutConditions}, -5, false},
		"override may be zero":        {[]change{override("0")}, 0, false},
		"override may be large":       {[]change{override("1000000")}, 1000000, false},
		"invalid override is ignored": {[]change{override("high"), deleting}, PriorityDeleting, true},
		"empty override is ignored":   {[]change{override("")}, fallback, true},
		"fraction is ignored":         {[]change{override("1.5")}, fallback, true},

		"deleting":                            {[]change{deleting}, PriorityDeleting, false},
		"deleting before creating":            {[]change{deleting, withoutConditions}, PriorityDeleting, false},
		"deleting before power change":        {[]change{deleting, power(off, on)}, PriorityDeleting, false},
		"creating without the condition":      {[]change{withoutConditions}, PriorityCreating, false},
		"creating with the condition False":   {[]change{condition(vmv1alpha1.ConditionCreated, metav1.ConditionFalse)}, PriorityCreating, false},
		"creating with the condition Unknown": {[]change{condition(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown)}, PriorityCreating, false},
		"creating before power change":        {[]change{withoutConditions, power(off, on)}, PriorityCreating, false},
		"power on":                            {[]change{power(on, off)}, PriorityPowerStateChange, false},
		"power off":                           {[]change{power(off, on)}, PriorityPowerStateChange, false},
		"suspend":                             {[]change{power(suspended, on)}, PriorityPowerStateChange, false},
		"unset desired means powered on":      {[]change{power("", on)}, fallback, false},
		"unset desired, powered off":          {[]change{power("", off)}, PriorityPowerStateChange, false},
		"power change before address":         {[]change{power(off, on), ips("", "")}, PriorityPowerStateChange, false},
		"waiting for an address":              {[]change{ips("", "")}, PriorityWaitingForIP, false},
		"no network status yet":               {[]change{func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Network = nil }}, PriorityWaitingForIP, false},
		"IPv6 alone suffices":                 {[]change{ips("", "2001:db8::7")}, fallback, false},
		"no network section means a network":  {[]change{ips("", ""), func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Network = nil }}, PriorityWaitingForIP, false},
		"a preference without interface waits for nothing": {[]change{ips("", ""), func(vm *vmv1alpha1.VirtualMachine) {
			vm.Spec.Network, vm.Spec.Preference = nil, &vmv1alpha1.PreferenceMatcher{Name: "appliance"}
			vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{}
		}}, fallback, false},
		"a preference with the default interface waits for an address": {[]change{func(vm *vmv1alpha1.VirtualMachine) {
			vm.Spec.Network, vm.Spec.Preference = nil, &vmv1alpha1.PreferenceMatcher{Name: "linux"}
			vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{{DeviceKey: 4000}}}
		}}, PriorityWaitingForIP, false},
		"disabled network waits for nothing":   {[]change{ips("", ""), func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Network.Disabled = true }}, fallback, false},
		"powered off waits for no address":     {[]change{ips("", ""), power(off, off)}, fallback, false},
		"address before promotion":             {[]change{ips("", ""), noPromotion}, PriorityWaitingForIP, false},
		"promotion while powered on":           {[]change{noPromotion}, PriorityWaitingForDiskPromo, false},
		"promotion while powered off":          {[]change{noPromotion, power(off, off)}, PriorityWaitingForDiskPromo, false},
		"promotion mode unset is not off":      {[]change{noPromotion, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PromoteDisksMode = "" }}, PriorityWaitingForDiskPromo, false},
		"disabled promotion waits for nothing": {[]change{noPromotion, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled }}, fallback, false},
		"stable and powered off":               {[]change{power(off, off)}, fallback, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Priority(stable(test.changes...), fallback)
			if got != test.want {
				t.Errorf("priority %d, want %d", got, test.want)
			}
			if (err != nil) != test.invalid {
				t.Errorf("error %v, want one: %t", err, test.invalid)
			}
		})
	}
}

func TestPriority_IsTheFallbackForOtherKinds(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}
	if got, err := Priority(secret, -3); got != -3 || err != nil {
		t.Errorf("priority %d and error %v, want -3 and none", got, err)
	}
}

// The values are known to users and their tools.
func TestPriority_ValuesAreTheDocumentedOnes(t *testing.T) {
	got := [...]int{PriorityCreating, PriorityPowerStateChange, PriorityDeleting, PriorityWaitingForIP, PriorityWaitingForDiskPromo,
		controller.PriorityDefaultCreate, controller.PriorityDefaultUpdate, controller.PriorityDefaultDelete, controller.PriorityDefaultGeneric}
	if want := [...]int{100, 99, 98, 97, 96, -1, -2, -3, -4}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func setTrue(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType string) {
	setCondition(vm, now, conditionType, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

func setFalse(vm *vmv1alpha1.VirtualMachine, now time.Time, conditionType, reason, message string) {
	setCondition(vm, now, conditionType, metav1.ConditionFalse, reason, message)
}
