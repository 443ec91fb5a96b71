// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretKeySelector selects a key of a Secret of the same namespace.
type SecretKeySelector struct {
	// Name of the Secret.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// Key within the Secret. Defaults, when read, to the key that the
	// bootstrap provider names in its documentation.
	// +optional
	Key string `json:"key,omitempty" protobuf:"bytes,2,opt,name=key"`
}

// VirtualMachineBootstrap configures the guest at its first start. At most one
// provider is set.
type VirtualMachineBootstrap struct {
	// CloudInit hands user data to cloud-init through guestinfo.
	// +optional
	CloudInit *CloudInitBootstrap `json:"cloudInit,omitempty" protobuf:"bytes,1,opt,name=cloudInit"`
	// LinuxPrep uses vSphere guest customization for Linux.
	// +optional
	LinuxPrep *LinuxPrepBootstrap `json:"linuxPrep,omitempty" protobuf:"bytes,2,opt,name=linuxPrep"`
	// Sysprep uses vSphere guest customization for Windows.
	// +optional
	Sysprep *SysprepBootstrap `json:"sysprep,omitempty" protobuf:"bytes,3,opt,name=sysprep"`
	// VAppConfig sets OVF properties.
	// +optional
	VAppConfig *VAppConfigBootstrap `json:"vAppConfig,omitempty" protobuf:"bytes,4,opt,name=vAppConfig"`
	// WaitForTools makes readiness wait for VMware Tools after power on.
	// +optional
	WaitForTools bool `json:"waitForTools,omitempty" protobuf:"varint,5,opt,name=waitForTools"`
}

// CloudInitBootstrap configures cloud-init.
type CloudInitBootstrap struct {
	// InstanceID is the cloud-init instance ID; the UID of the object when unset.
	// +optional
	InstanceID string `json:"instanceID,omitempty" protobuf:"bytes,1,opt,name=instanceID"`
	// RawCloudConfig selects the user data; key user-data when not named.
	// +optional
	RawCloudConfig *SecretKeySelector `json:"rawCloudConfig,omitempty" protobuf:"bytes,2,opt,name=rawCloudConfig"`
}

// LinuxPrepBootstrap configures guest customization for Linux.
type LinuxPrepBootstrap struct {
	// HardwareClockIsUTC says that the hardware clock holds UTC.
	// +optional
	HardwareClockIsUTC *bool `json:"hardwareClockIsUTC,omitempty" protobuf:"varint,1,opt,name=hardwareClockIsUTC"`
	// TimeZone is a tz database name, for example Europe/Berlin.
	// +optional
	TimeZone string `json:"timeZone,omitempty" protobuf:"bytes,2,opt,name=timeZone"`
}

// SysprepBootstrap configures guest customization for Windows.
type SysprepBootstrap struct {
	// RawSysprep selects the answer file; key unattend when not named.
	// +optional
	RawSysprep *SecretKeySelector `json:"rawSysprep,omitempty" protobuf:"bytes,1,opt,name=rawSysprep"`
}

// VAppConfigBootstrap sets OVF properties.
type VAppConfigBootstrap struct {
	// Properties are OVF property values by key.
	// +optional
	Properties map[string]string `json:"properties,omitempty" protobuf:"bytes,1,rep,name=properties"`
	// RawProperties names a Secret whose keys and values are properties.
	// +optional
	RawProperties string `json:"rawProperties,omitempty" protobuf:"bytes,2,opt,name=rawProperties"`
}

// GuestHeartbeatStatus is the heartbeat colour that vSphere reports.
// +enum
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
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,1,opt,name=tcpSocket"`
	// GuestHeartbeat looks at the heartbeat of VMware Tools.
	// +optional
	GuestHeartbeat *GuestHeartbeatAction `json:"guestHeartbeat,omitempty" protobuf:"bytes,2,opt,name=guestHeartbeat"`
	// GuestInfo compares guestinfo variables.
	// +optional
	// +listType=atomic
	GuestInfo []GuestInfoAction `json:"guestInfo,omitempty" protobuf:"bytes,3,rep,name=guestInfo"`
	// PeriodSeconds between probes of the kind tcpSocket, 1 to 3600. Defaults to 10. The
	// others are decided whenever vSphere reports a change.
	// +optional
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,4,opt,name=periodSeconds"`
	// TimeoutSeconds of one probe of the kind tcpSocket, 1 to 60. Defaults to 10.
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,5,opt,name=timeoutSeconds"`
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// Port of the guest, 1 to 65535.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port"`
	// Host to connect to, one of the IP addresses that the guest reports; its primary one
	// when unset.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// GuestHeartbeatAction compares the heartbeat.
type GuestHeartbeatAction struct {
	// ThresholdStatus is the lowest status that counts as ready, Yellow or
	// Green. Defaults to Green.
	// +optional
	ThresholdStatus GuestHeartbeatStatus `json:"thresholdStatus,omitempty" protobuf:"bytes,1,opt,name=thresholdStatus,casttype=GuestHeartbeatStatus"`
}

// GuestInfoAction compares one guestinfo variable.
type GuestInfoAction struct {
	// Key without the prefix guestinfo.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// Value is a regular expression (RE2) that the whole value must match; an
	// existing key suffices when empty. A value of more than 4096 bytes matches none.
	// +optional
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
}

// VirtualMachineGuestStatus is what VMware Tools reports of the guest.
type VirtualMachineGuestStatus struct {
	// GuestID is the guest operating system identifier that Tools reports.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,1,opt,name=guestID"`
	// GuestFullName is the name of the guest operating system.
	// +optional
	GuestFullName string `json:"guestFullName,omitempty" protobuf:"bytes,2,opt,name=guestFullName"`
	// HostName is the host name that Tools reports.
	// +optional
	HostName string `json:"hostName,omitempty" protobuf:"bytes,3,opt,name=hostName"`
	// ToolsRunning is true while VMware Tools runs.
	// +optional
	ToolsRunning bool `json:"toolsRunning,omitempty" protobuf:"varint,4,opt,name=toolsRunning"`
	// ToolsVersion is the version of VMware Tools.
	// +optional
	ToolsVersion string `json:"toolsVersion,omitempty" protobuf:"bytes,5,opt,name=toolsVersion"`
	// Heartbeat is the heartbeat colour.
	// +optional
	Heartbeat GuestHeartbeatStatus `json:"heartbeat,omitempty" protobuf:"bytes,6,opt,name=heartbeat,casttype=GuestHeartbeatStatus"`
	// BootTime is when the virtual machine was last powered on.
	// +optional
	BootTime *metav1.Time `json:"bootTime,omitempty" protobuf:"bytes,7,opt,name=bootTime"`
}
