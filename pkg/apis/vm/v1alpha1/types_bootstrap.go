// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretKeySelector selects a key of a Secret in the same namespace.
type SecretKeySelector struct {
	// name of the Secret.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// key in the Secret. If unset, the default of the bootstrap provider applies, which the referring field describes.
	// +optional
	Key string `json:"key,omitempty" protobuf:"bytes,2,opt,name=key"`
}

// VirtualMachineBootstrap configures the guest at its first boot. At most one provider can be set.
type VirtualMachineBootstrap struct {
	// cloudInit passes user data to cloud-init through guestinfo.
	// +optional
	CloudInit *CloudInitBootstrap `json:"cloudInit,omitempty" protobuf:"bytes,1,opt,name=cloudInit"`
	// linuxPrep uses vSphere guest customization for Linux.
	// +optional
	LinuxPrep *LinuxPrepBootstrap `json:"linuxPrep,omitempty" protobuf:"bytes,2,opt,name=linuxPrep"`
	// sysprep uses vSphere guest customization for Windows.
	// +optional
	Sysprep *SysprepBootstrap `json:"sysprep,omitempty" protobuf:"bytes,3,opt,name=sysprep"`
	// vAppConfig sets OVF properties.
	// +optional
	VAppConfig *VAppConfigBootstrap `json:"vAppConfig,omitempty" protobuf:"bytes,4,opt,name=vAppConfig"`
	// waitForTools keeps the virtual machine from becoming ready until VMware Tools runs.
	// +optional
	WaitForTools bool `json:"waitForTools,omitempty" protobuf:"varint,5,opt,name=waitForTools"`
	// ignition passes a configuration to Ignition through guestinfo.
	// +optional
	Ignition *IgnitionBootstrap `json:"ignition,omitempty" protobuf:"bytes,6,opt,name=ignition"`
	// removeAfterFirstBoot removes the data that was read from Secrets from the vSphere VM after the guest has read it.
	// The instance data that identifies the guest remains. Supported for cloudInit and ignition. The condition
	// BootstrapDataRemoved reports the result.
	// +optional
	RemoveAfterFirstBoot bool `json:"removeAfterFirstBoot,omitempty" protobuf:"varint,7,opt,name=removeAfterFirstBoot"`
}

// CloudInitBootstrap configures cloud-init.
type CloudInitBootstrap struct {
	// instanceID is the cloud-init instance ID. Defaults to the UID of the object. If it changes, cloud-init runs at the
	// next boot as it does at the first boot, with the current data of the Secrets.
	// +optional
	InstanceID string `json:"instanceID,omitempty" protobuf:"bytes,1,opt,name=instanceID"`
	// rawCloudConfig selects the user data. The key defaults to user-data.
	// +optional
	RawCloudConfig *SecretKeySelector `json:"rawCloudConfig,omitempty" protobuf:"bytes,2,opt,name=rawCloudConfig"`
	// cloudConfig is inline user data in place of rawCloudConfig: a cloud-config in YAML of at most 32 KiB. Passwords
	// and private keys are rejected because every user who can read the object can read this field.
	// +optional
	CloudConfig string `json:"cloudConfig,omitempty" protobuf:"bytes,3,opt,name=cloudConfig"`
	// sshAuthorizedKeys are the public keys for the default user of the image, in the format of an authorized_keys file.
	// At most 16.
	// +optional
	// +listType=atomic
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty" protobuf:"bytes,4,rep,name=sshAuthorizedKeys"`
	// rawNetworkConfig selects a cloud-init network configuration, version 1 or 2. It replaces the configuration that is
	// generated from spec.network. The key defaults to network-config.
	// +optional
	RawNetworkConfig *SecretKeySelector `json:"rawNetworkConfig,omitempty" protobuf:"bytes,5,opt,name=rawNetworkConfig"`
	// rawVendorData selects the vendor data. The key defaults to vendor-data.
	// +optional
	RawVendorData *SecretKeySelector `json:"rawVendorData,omitempty" protobuf:"bytes,6,opt,name=rawVendorData"`
}

// IgnitionBootstrap configures Ignition. Ignition runs only at the first boot.
type IgnitionBootstrap struct {
	// rawConfig selects the configuration in JSON, for example the output of Butane. The key defaults to ignition.
	// +required
	RawConfig *SecretKeySelector `json:"rawConfig" protobuf:"bytes,1,opt,name=rawConfig"`
}

// VirtualMachineBootstrapStatus is the observed state of the bootstrap data.
type VirtualMachineBootstrapStatus struct {
	// instanceID is the cloud-init instance ID in the vSphere VM. It is set only if it differs from the UID of the
	// object.
	// +optional
	InstanceID string `json:"instanceID,omitempty" protobuf:"bytes,1,opt,name=instanceID"`
}

// LinuxPrepBootstrap configures guest customization for Linux.
type LinuxPrepBootstrap struct {
	// hardwareClockIsUTC is true if the hardware clock is in UTC.
	// +optional
	HardwareClockIsUTC *bool `json:"hardwareClockIsUTC,omitempty" protobuf:"varint,1,opt,name=hardwareClockIsUTC"`
	// timeZone is a tz database name, for example Europe/Berlin.
	// +optional
	TimeZone string `json:"timeZone,omitempty" protobuf:"bytes,2,opt,name=timeZone"`
}

// SysprepBootstrap configures guest customization for Windows. Exactly one of rawSysprep and answers must be set.
type SysprepBootstrap struct {
	// rawSysprep selects the answer file. The key defaults to unattend.
	// +optional
	RawSysprep *SecretKeySelector `json:"rawSysprep,omitempty" protobuf:"bytes,1,opt,name=rawSysprep"`
	// answers are the settings from which vSphere generates the answer file. The computer name is spec.network.hostName
	// or, if unset, the name of the object.
	// +optional
	Answers *SysprepAnswers `json:"answers,omitempty" protobuf:"bytes,2,opt,name=answers"`
}

// SysprepAnswers are the answers for Windows Setup.
type SysprepAnswers struct {
	// fullName of the registered user.
	// +required
	FullName string `json:"fullName" protobuf:"bytes,1,opt,name=fullName"`
	// organization of the registered user.
	// +required
	Organization string `json:"organization" protobuf:"bytes,2,opt,name=organization"`
	// productKey selects the product key. The key defaults to product-key. Not needed for Windows with a volume license.
	// +optional
	ProductKey *SecretKeySelector `json:"productKey,omitempty" protobuf:"bytes,3,opt,name=productKey"`
	// administratorPassword selects the password of the Administrator account. The key defaults to password. If unset,
	// the password of the image is not changed.
	// +optional
	AdministratorPassword *SecretKeySelector `json:"administratorPassword,omitempty" protobuf:"bytes,4,opt,name=administratorPassword"`
	// autoLogonCount is the number of automatic logons of Administrator. Allowed: 0 to 100. Requires
	// administratorPassword.
	// +optional
	AutoLogonCount int32 `json:"autoLogonCount,omitempty" protobuf:"varint,5,opt,name=autoLogonCount"`
	// timeZone is the Microsoft time zone index. Allowed: 0 to 999. Defaults, when used, to 85 (GMT Standard Time).
	// +optional
	TimeZone *int32 `json:"timeZone,omitempty" protobuf:"varint,6,opt,name=timeZone"`
	// workgroup that the computer joins. Mutually exclusive with domain. Defaults, when used, to WORKGROUP if domain is
	// not set.
	// +optional
	Workgroup string `json:"workgroup,omitempty" protobuf:"bytes,7,opt,name=workgroup"`
	// domain that the computer joins. Mutually exclusive with workgroup.
	// +optional
	Domain *SysprepDomain `json:"domain,omitempty" protobuf:"bytes,8,opt,name=domain"`
	// runOnce are the commands that run at the first logon of a user. At most 64.
	// +optional
	// +listType=atomic
	RunOnce []string `json:"runOnce,omitempty" protobuf:"bytes,9,rep,name=runOnce"`
}

// SysprepDomain is an Active Directory domain that a computer joins.
type SysprepDomain struct {
	// name of the domain.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// user with permission to add computers to the domain.
	// +required
	User string `json:"user" protobuf:"bytes,2,opt,name=user"`
	// password selects the password of the user. The key defaults to domain-password.
	// +required
	Password *SecretKeySelector `json:"password" protobuf:"bytes,3,opt,name=password"`
	// organizationalUnit of the computer account, for example OU=Servers,DC=example,DC=org. Requires vSphere 8.0 Update
	// 2.
	// +optional
	OrganizationalUnit string `json:"organizationalUnit,omitempty" protobuf:"bytes,4,opt,name=organizationalUnit"`
}

// VAppConfigBootstrap sets OVF properties.
type VAppConfigBootstrap struct {
	// properties are OVF property values by key.
	// +optional
	Properties map[string]string `json:"properties,omitempty" protobuf:"bytes,1,rep,name=properties"`
	// rawProperties is the name of a Secret whose keys and values are OVF properties.
	// +optional
	RawProperties string `json:"rawProperties,omitempty" protobuf:"bytes,2,opt,name=rawProperties"`
}

// GuestHeartbeatStatus is the heartbeat color that vSphere reports.
// +enum
type GuestHeartbeatStatus string

const (
	// GuestHeartbeatGray means that there is no heartbeat because VMware Tools is not installed or not running.
	GuestHeartbeatGray GuestHeartbeatStatus = "Gray"
	// GuestHeartbeatRed means that there was no heartbeat for some time.
	GuestHeartbeatRed GuestHeartbeatStatus = "Red"
	// GuestHeartbeatYellow means that the heartbeat is intermittent.
	GuestHeartbeatYellow GuestHeartbeatStatus = "Yellow"
	// GuestHeartbeatGreen means that the heartbeat is regular.
	GuestHeartbeatGreen GuestHeartbeatStatus = "Green"
)

// VirtualMachineReadinessProbe determines whether the guest is ready. Exactly one action must be set.
type VirtualMachineReadinessProbe struct {
	// tcpSocket opens a TCP connection.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,1,opt,name=tcpSocket"`
	// guestHeartbeat checks the heartbeat of VMware Tools.
	// +optional
	GuestHeartbeat *GuestHeartbeatAction `json:"guestHeartbeat,omitempty" protobuf:"bytes,2,opt,name=guestHeartbeat"`
	// guestInfo checks guestinfo variables.
	// +optional
	// +listType=atomic
	GuestInfo []GuestInfoAction `json:"guestInfo,omitempty" protobuf:"bytes,3,rep,name=guestInfo"`
	// periodSeconds is the time between two tcpSocket probes, in seconds. Allowed: 1 to 3600. Defaults to 10. Other
	// probes are evaluated when vSphere reports a change.
	// +optional
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,4,opt,name=periodSeconds"`
	// timeoutSeconds is the timeout of a tcpSocket probe, in seconds. Allowed: 1 to 60. Defaults to 10.
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,5,opt,name=timeoutSeconds"`
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// port of the guest. Allowed: 1 to 65535.
	// +required
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port"`
	// host to connect to. Must be one of the IP addresses that the guest reports. Defaults to the primary address.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// GuestHeartbeatAction checks the heartbeat of VMware Tools.
type GuestHeartbeatAction struct {
	// thresholdStatus is the lowest status that counts as ready. Allowed: Yellow, Green. Defaults to Green.
	// +optional
	ThresholdStatus GuestHeartbeatStatus `json:"thresholdStatus,omitempty" protobuf:"bytes,1,opt,name=thresholdStatus,casttype=GuestHeartbeatStatus"`
}

// GuestInfoAction checks a guestinfo variable.
type GuestInfoAction struct {
	// key of the variable without the prefix guestinfo.
	// +required
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// value is a regular expression (RE2 syntax) that must match the entire value. If empty, the key only has to exist.
	// A value longer than 4096 bytes does not match.
	// +optional
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
}

// VirtualMachineGuestStatus is the state of the guest that VMware Tools reports.
type VirtualMachineGuestStatus struct {
	// guestID is the guest operating system identifier that Tools reports.
	// +optional
	GuestID string `json:"guestID,omitempty" protobuf:"bytes,1,opt,name=guestID"`
	// guestFullName is the name of the guest operating system.
	// +optional
	GuestFullName string `json:"guestFullName,omitempty" protobuf:"bytes,2,opt,name=guestFullName"`
	// hostName is the host name that Tools reports.
	// +optional
	HostName string `json:"hostName,omitempty" protobuf:"bytes,3,opt,name=hostName"`
	// toolsRunning is true while VMware Tools runs.
	// +optional
	ToolsRunning bool `json:"toolsRunning,omitempty" protobuf:"varint,4,opt,name=toolsRunning"`
	// toolsVersion is the version of VMware Tools.
	// +optional
	ToolsVersion string `json:"toolsVersion,omitempty" protobuf:"bytes,5,opt,name=toolsVersion"`
	// heartbeat is the heartbeat color.
	// +optional
	Heartbeat GuestHeartbeatStatus `json:"heartbeat,omitempty" protobuf:"bytes,6,opt,name=heartbeat,casttype=GuestHeartbeatStatus"`
	// bootTime is the time when the virtual machine was last powered on.
	// +optional
	BootTime *metav1.Time `json:"bootTime,omitempty" protobuf:"bytes,7,opt,name=bootTime"`
}
