// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// ImageKind is the kind of a namespaced image.
	ImageKind = "VirtualMachineImage"
	// ClusterImageKind is the kind of a cluster-scoped image.
	ClusterImageKind = "ClusterVirtualMachineImage"
	// MachineImageKind is the kind of an image reference to another virtual machine in the same namespace.
	MachineImageKind = "VirtualMachine"
	// DefaultImageKind is the default kind of an image reference.
	DefaultImageKind = ImageKind
	// DefaultProbePeriodSeconds is the default time between two probes, in seconds.
	DefaultProbePeriodSeconds int32 = 10
	// DefaultProbeTimeoutSeconds is the default timeout of a probe, in seconds.
	DefaultProbeTimeoutSeconds int32 = 10
)

// addDefaultingFuncs registers the generated defaulting functions, which call the functions of this file.
func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}

// SetDefaults_VirtualMachineSpec sets the defaults of enumerations. A group member gets no default power state, because
// it inherits that of the group.
func SetDefaults_VirtualMachineSpec(spec *VirtualMachineSpec) {
	if spec.GroupName == "" {
		setDefault(&spec.PowerState, PoweredOn)
	}
	setDefault(&spec.PowerOffMode, PowerOpModeTrySoft)
	setDefault(&spec.SuspendMode, PowerOpModeTrySoft)
	setDefault(&spec.RestartMode, PowerOpModeTrySoft)
	setDefault(&spec.PromoteDisksMode, PromoteDisksModeOnline)
	setDefault(&spec.WhenMissing, WhenMissingWait)
	setDefault(&spec.UpdateStrategy, UpdateStrategyLiveUpdate)
}

// SetDefaults_VirtualMachineImageRef sets the default kind.
func SetDefaults_VirtualMachineImageRef(ref *VirtualMachineImageRef) {
	setDefault(&ref.Kind, DefaultImageKind)
}

// SetDefaults_VirtualMachineReadinessProbe sets the default period and timeout.
func SetDefaults_VirtualMachineReadinessProbe(probe *VirtualMachineReadinessProbe) {
	setDefault(&probe.PeriodSeconds, DefaultProbePeriodSeconds)
	setDefault(&probe.TimeoutSeconds, DefaultProbeTimeoutSeconds)
}

// SetDefaults_GuestHeartbeatAction sets the default threshold.
func SetDefaults_GuestHeartbeatAction(action *GuestHeartbeatAction) {
	setDefault(&action.ThresholdStatus, GuestHeartbeatGreen)
}

// SetDefaults_VirtualMachineGroupStep sets the default of waitFor.
func SetDefaults_VirtualMachineGroupStep(step *VirtualMachineGroupStep) {
	setDefault(&step.WaitFor, WaitForNothing)
}

// SetDefaults_VirtualMachineGroupMember sets the default kind.
func SetDefaults_VirtualMachineGroupMember(member *VirtualMachineGroupMember) {
	setDefault(&member.Kind, MachineMemberKind)
}

// setDefault sets *field to value if it is unset.
func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}
