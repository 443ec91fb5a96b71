// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretKeySelector selects a key of a Secret of the same namespace.
type SecretKeySelector struct {
	// Name of the Secret.
	Name string
	// Key within the Secret. Defaults, when read, to the key that the
	// bootstrap provider names in its documentation.
	Key string
}

// VirtualMachineBootstrap configures the guest at its first start. At most one
// provider is set.
type VirtualMachineBootstrap struct {
	// CloudInit hands user data to cloud-init through guestinfo.
	CloudInit *CloudInitBootstrap
	// LinuxPrep uses vSphere guest customization for Linux.
	LinuxPrep *LinuxPrepBootstrap
	// Sysprep uses vSphere guest customization for Windows.
	Sysprep *SysprepBootstrap
	// VAppConfig sets OVF properties.
	VAppConfig *VAppConfigBootstrap
	// WaitForTools makes readiness wait for VMware Tools after power on.
	WaitForTools bool
}

// CloudInitBootstrap configures cloud-init.
type CloudInitBootstrap struct {
	// InstanceID is the cloud-init instance ID; the UID of the object when unset.
	InstanceID string
	// RawCloudConfig selects the user data; key user-data when not named.
	RawCloudConfig *SecretKeySelector
}

// LinuxPrepBootstrap configures guest customization for Linux.
type LinuxPrepBootstrap struct {
	// HardwareClockIsUTC says that the hardware clock holds UTC.
	HardwareClockIsUTC *bool
	// TimeZone is a tz database name, for example Europe/Berlin.
	TimeZone string
}

// SysprepBootstrap configures guest customization for Windows.
type SysprepBootstrap struct {
	// RawSysprep selects the answer file; key unattend when not named.
	RawSysprep *SecretKeySelector
}

// VAppConfigBootstrap sets OVF properties.
type VAppConfigBootstrap struct {
	// Properties are OVF property values by key.
	Properties map[string]string
	// RawProperties names a Secret whose keys and values are properties.
	RawProperties string
}

// GuestHeartbeatStatus is the heartbeat colour that vSphere reports.
type GuestHeartbeatStatus string

const (
	// GuestHeartbeatGray is no heartbeat: VMware Tools not installed or not running.
	GuestHeartbeatGray GuestHeartbeatStatus = "Gray"
	// GuestHeartbeatRed is no heartbeat for some time.
	GuestHeartbeatRed GuestHeartbeatStatus = "Red"
	// GuestHeartbeatYellow is an intermittent heartbeat.
	GuestHeartbeatYellow GuestHeartbeatStatus = "Yellow"
	// GuestHeartbeatGreen is a regular heartbeat.
	GuestHeartbeatGreen GuestHeartbeatStatus = "Green"
)

// VirtualMachineReadinessProbe decides whether the guest is ready. Exactly one
// action is set.
type VirtualMachineReadinessProbe struct {
	// TCPSocket opens a TCP connection.
	TCPSocket *TCPSocketAction
	// GuestHeartbeat looks at the heartbeat of VMware Tools.
	GuestHeartbeat *GuestHeartbeatAction
	// GuestInfo compares guestinfo variables.
	GuestInfo []GuestInfoAction
	// PeriodSeconds between probes, 1 to 3600. Defaults to 10.
	PeriodSeconds int32
	// TimeoutSeconds of one probe, 1 to 60. Defaults to 10.
	TimeoutSeconds int32
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// Port of the guest, 1 to 65535.
	Port int32
	// Host to connect to; the primary IP of the virtual machine when unset.
	Host string
}

// GuestHeartbeatAction compares the heartbeat.
type GuestHeartbeatAction struct {
	// ThresholdStatus is the lowest status that counts as ready, Yellow or
	// Green. Defaults to Green.
	ThresholdStatus GuestHeartbeatStatus
}

// GuestInfoAction compares one guestinfo variable.
type GuestInfoAction struct {
	// Key without the prefix guestinfo.
	Key string
	// Value is a regular expression that the whole value must match; an
	// existing key suffices when empty.
	Value string
}

// VirtualMachineGuestStatus is what VMware Tools reports of the guest.
type VirtualMachineGuestStatus struct {
	// GuestID is the guest operating system identifier that Tools reports.
	GuestID string
	// GuestFullName is the name of the guest operating system.
	GuestFullName string
	// HostName is the host name that Tools reports.
	HostName string
	// ToolsRunning is true while VMware Tools runs.
	ToolsRunning bool
	// ToolsVersion is the version of VMware Tools.
	ToolsVersion string
	// Heartbeat is the heartbeat colour.
	Heartbeat GuestHeartbeatStatus
	// BootTime is when the virtual machine was last powered on.
	BootTime *metav1.Time
}
