// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// ImageKind is the kind of the images of a namespace.
	ImageKind = "VirtualMachineImage"
	// ClusterImageKind is the kind of the images of all namespaces.
	ClusterImageKind = "ClusterVirtualMachineImage"
	// MachineImageKind is the kind of an image that is another virtual machine of the
	// namespace.
	MachineImageKind = "VirtualMachine"
	// DefaultImageKind is the kind of an image reference that names none.
	DefaultImageKind = ImageKind
	// DefaultProbePeriodSeconds is the time between two probes.
	DefaultProbePeriodSeconds int32 = 10
	// DefaultProbeTimeoutSeconds is the time that a probe may take.
	DefaultProbeTimeoutSeconds int32 = 10
)

// addDefaultingFuncs registers the generated defaulting functions, which call
// those of this file.
func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}

// SetDefaults_VirtualMachineSpec fills the enumerations that have a default. A member of a
// group inherits its power state.
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

// SetDefaults_VirtualMachineImageRef fills the kind.
func SetDefaults_VirtualMachineImageRef(ref *VirtualMachineImageRef) {
	setDefault(&ref.Kind, DefaultImageKind)
}

// SetDefaults_VirtualMachineReadinessProbe fills the times.
func SetDefaults_VirtualMachineReadinessProbe(probe *VirtualMachineReadinessProbe) {
	setDefault(&probe.PeriodSeconds, DefaultProbePeriodSeconds)
	setDefault(&probe.TimeoutSeconds, DefaultProbeTimeoutSeconds)
}

// SetDefaults_GuestHeartbeatAction fills the threshold.
func SetDefaults_GuestHeartbeatAction(action *GuestHeartbeatAction) {
	setDefault(&action.ThresholdStatus, GuestHeartbeatGreen)
}

// SetDefaults_VirtualMachineGroupStep fills what is waited for.
func SetDefaults_VirtualMachineGroupStep(step *VirtualMachineGroupStep) {
	setDefault(&step.WaitFor, WaitForNothing)
}

// SetDefaults_VirtualMachineGroupMember fills the kind.
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
