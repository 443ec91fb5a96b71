// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// oddTimes are RFC 3339 times outside the supported range. A status cannot store them, so an action at such a time
// would be repeated.
var oddTimes = []string{
	"0001-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "1999-12-31T23:59:59Z",
	"2000-01-01T00:30:00+01:00", "9999-12-31T23:59:59-00:01",
}

func TestNextRestartTime_MustBeReadableAgain(t *testing.T) {
	for _, text := range oddTimes {
		obj := inlineVM(func(v *vmv1alpha1.VirtualMachine) { v.Spec.NextRestartTime = text })
		check(t, []string{"Invalid spec.nextRestartTime"}, ValidateVirtualMachine(obj))
		check(t, []string{"Invalid spec.nextRestartTime"}, ValidateVirtualMachineUpdate(obj, inlineVM(nil)))
	}
	for _, text := range []string{"2000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-02T15:04:05.123456789+02:00"} {
		check(t, nil, ValidateVirtualMachine(inlineVM(func(v *vmv1alpha1.VirtualMachine) { v.Spec.NextRestartTime = text })))
	}
}

func TestDelayedPowerOn_MustBeReadableAgain(t *testing.T) {
	const key = vmv1alpha1.AnnotationDelayedPowerOn
	want := []string{"Invalid metadata.annotations[" + key + "]"}
	for _, text := range append(oddTimes, "soon", "") {
		odd := inlineVM(func(v *vmv1alpha1.VirtualMachine) { metav1.SetMetaDataAnnotation(&v.ObjectMeta, key, text) })
		check(t, want, ValidateVirtualMachine(odd))
		check(t, want, ValidateVirtualMachineUpdate(odd, inlineVM(nil)))
		check(t, nil, ValidateVirtualMachineUpdate(odd, odd)) // stored before the rule existed; must be deletable
	}
	check(t, nil, ValidateVirtualMachine(inlineVM(func(v *vmv1alpha1.VirtualMachine) {
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, key, "2026-01-02T15:04:05+02:00")
	})))
}
