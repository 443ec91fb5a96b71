// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzer generates random objects of the vm.slipway.dev group for tests.
//
// Guarantee: all defaults are set, so that an object is unchanged after it is encoded in a version and decoded.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Funcs returns the fuzzing functions for the types that have defaults.
func Funcs(runtimeserializer.CodecFactory) []any {
	return []any{
		func(spec *v1alpha1.VirtualMachineSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			if spec.GroupName == "" {
				orDefault(&spec.PowerState, v1alpha1.PoweredOn)
			}
			orDefault(&spec.PowerOffMode, v1alpha1.PowerOpModeTrySoft)
			orDefault(&spec.SuspendMode, v1alpha1.PowerOpModeTrySoft)
			orDefault(&spec.RestartMode, v1alpha1.PowerOpModeTrySoft)
			orDefault(&spec.PromoteDisksMode, v1alpha1.PromoteDisksModeOnline)
			orDefault(&spec.WhenMissing, v1alpha1.WhenMissingWait)
			orDefault(&spec.UpdateStrategy, v1alpha1.UpdateStrategyLiveUpdate)
		},
		func(ref *v1alpha1.VirtualMachineImageRef, c randfill.Continue) {
			c.FillNoCustom(ref)
			orDefault(&ref.Kind, v1alpha1.DefaultImageKind)
		},
		func(probe *v1alpha1.VirtualMachineReadinessProbe, c randfill.Continue) {
			c.FillNoCustom(probe)
			orDefault(&probe.PeriodSeconds, v1alpha1.DefaultProbePeriodSeconds)
			orDefault(&probe.TimeoutSeconds, v1alpha1.DefaultProbeTimeoutSeconds)
		},
		func(step *v1alpha1.VirtualMachineGroupStep, c randfill.Continue) {
			c.FillNoCustom(step)
			orDefault(&step.WaitFor, v1alpha1.WaitForNothing)
		},
		func(member *v1alpha1.VirtualMachineGroupMember, c randfill.Continue) {
			c.FillNoCustom(member)
			orDefault(&member.Kind, v1alpha1.MachineMemberKind)
		},
		func(action *v1alpha1.GuestHeartbeatAction, c randfill.Continue) {
			c.FillNoCustom(action)
			orDefault(&action.ThresholdStatus, v1alpha1.GuestHeartbeatGreen)
		},
	}
}

// orDefault sets an empty field to its default.
func orDefault[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}
