// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzer fills objects of the vm.slipway.dev group at random for tests.
//
// Guarantee: filled objects hold every default, so that they come back equal
// after being written in a version and read again.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/slipway-dev/slipway/pkg/apis/vm"
	"github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Funcs returns the functions that fill the types of the group which have
// defaults.
func Funcs(runtimeserializer.CodecFactory) []any {
	return []any{
		func(spec *vm.VirtualMachineSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			orDefault(&spec.PowerState, vm.PoweredOn)
			orDefault(&spec.PowerOffMode, vm.PowerOpModeTrySoft)
			orDefault(&spec.SuspendMode, vm.PowerOpModeTrySoft)
			orDefault(&spec.RestartMode, vm.PowerOpModeTrySoft)
			orDefault(&spec.PromoteDisksMode, vm.PromoteDisksModeOnline)
			orDefault(&spec.WhenMissing, vm.WhenMissingWait)
			orDefault(&spec.UpdateStrategy, vm.UpdateStrategyLiveUpdate)
		},
		func(ref *vm.VirtualMachineImageRef, c randfill.Continue) {
			c.FillNoCustom(ref)
			orDefault(&ref.Kind, v1alpha1.DefaultImageKind)
		},
		func(probe *vm.VirtualMachineReadinessProbe, c randfill.Continue) {
			c.FillNoCustom(probe)
			orDefault(&probe.PeriodSeconds, v1alpha1.DefaultProbePeriodSeconds)
			orDefault(&probe.TimeoutSeconds, v1alpha1.DefaultProbeTimeoutSeconds)
		},
		func(action *vm.GuestHeartbeatAction, c randfill.Continue) {
			c.FillNoCustom(action)
			orDefault(&action.ThresholdStatus, vm.GuestHeartbeatGreen)
		},
	}
}

// orDefault replaces an empty random value by the default.
func orDefault[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}
