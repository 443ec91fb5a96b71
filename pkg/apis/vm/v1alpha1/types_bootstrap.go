// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretKeySelector selects a key of a Secret of the same namespace.
type SecretKeySelector struct {
	// name of the Secret.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// key within the Secret. Defaults, when read, to the key that the
	// bootstrap provider names in its documentation.
	// +optional
	Key string `json:"key,omitempty" protobuf:"bytes,2,opt,name=key"`
}

// VirtualMachineBootstrap configures the guest at its first start. At most one
// provider is set.
type VirtualMachineBootstrap struct {
	// cloudInit hands user data to cloud-init through guestinfo.
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
	// waitForTools makes readiness wait for VMware Tools after power on.
	// +optional
	WaitForTools bool `json:"waitForTools,omitempty" protobuf:"varint,5,opt,name=waitForTools"`
	// ignition hands a configuration to Ignition through guestinfo.
	// +optional
	Ignition *IgnitionBootstrap `json:"ignition,omitempty" protobuf:"bytes,6,opt,name=ignition"`
	// removeAfterFirstBoot takes what was read from Secrets out of the vSphere VM once the
	// guest has it, for cloudInit and ignition; what identifies the guest stays. The
	// condition BootstrapDataRemoved tells of it.
	// +optional
	RemoveAfterFirstBoot bool `json:"removeAfterFirstBoot,omitempty" protobuf:"varint,7,opt,name=removeAfterFirstBoot"`
}

// CloudInitBootstrap configures cloud-init.
type CloudInitBootstrap struct {
	// instanceID is the cloud-init instance ID; the UID of the object when unset. Another
	// one makes cloud-init run at the next boot as at the first one, with the data that the
	// Secrets have then.
	// +optional
	InstanceID string `json:"instanceID,omitempty" protobuf:"bytes,1,opt,name=instanceID"`
	// rawCloudConfig selects the user data; key user-data when not named.
	// +optional
	RawCloudConfig *SecretKeySelector `json:"rawCloudConfig,omitempty" protobuf:"bytes,2,opt,name=rawCloudConfig"`
	// cloudConfig is user data in place of rawCloudConfig: a cloud-config in YAML of at most
	// 32 KiB. Who may read the object reads it, so that passwords and private keys in it are
	// refused.
	// +optional
	CloudConfig string `json:"cloudConfig,omitempty" protobuf:"bytes,3,opt,name=cloudConfig"`
	// sshAuthorizedKeys are public keys that may log in as the default user of the image,
	// as in a file authorized_keys; at most 16.
	// +optional
	// +listType=atomic
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty" protobuf:"bytes,4,rep,name=sshAuthorizedKeys"`
	// rawNetworkConfig selects a network configuration of cloud-init, version 1 or 2, in
	// place of that which is made of spec.network; key network-config when not named.
	// +optional
	RawNetworkConfig *SecretKeySelector `json:"rawNetworkConfig,omitempty" protobuf:"bytes,5,opt,name=rawNetworkConfig"`
	// rawVendorData selects the vendor data; key vendor-data when not named.
	// +optional
	RawVendorData *SecretKeySelector `json:"rawVendorData,omitempty" protobuf:"bytes,6,opt,name=rawVendorData"`
}

// IgnitionBootstrap configures Ignition, which runs at the first boot only.
type IgnitionBootstrap struct {
	// rawConfig selects the configuration in JSON, as Butane makes it; key ignition when
	// not named.
	// +required
	RawConfig *SecretKeySelector `json:"rawConfig" protobuf:"bytes,1,opt,name=rawConfig"`
}

// VirtualMachineBootstrapStatus is what the guest was told.
type VirtualMachineBootstrapStatus struct {
	// instanceID is the cloud-init instance ID in the vSphere VM, if it is not the UID of the
	// object.
	// +optional
	InstanceID string `json:"instanceID,omitempty" protobuf:"bytes,1,opt,name=instanceID"`
}

// LinuxPrepBootstrap configures guest customization for Linux.
type LinuxPrepBootstrap struct {
	// hardwareClockIsUTC says that the hardware clock holds UTC.
	// +optional
	HardwareClockIsUTC *bool `json:"hardwareClockIsUTC,omitempty" protobuf:"varint,1,opt,name=hardwareClockIsUTC"`
	// timeZone is a tz database name, for example Europe/Berlin.
	// +optional
	TimeZone string `json:"timeZone,omitempty" protobuf:"bytes,2,opt,name=timeZone"`
}

// SysprepBootstrap configures guest customization for Windows. Exactly one of rawSysprep
// and answers is set.
type SysprepBootstrap struct {
	// rawSysprep selects the answer file; key unattend when not named.
	// +optional
	RawSysprep *SecretKeySelector `json:"rawSysprep,omitempty" protobuf:"bytes,1,opt,name=rawSysprep"`
	// answers are what vSphere makes the answer file of. The computer gets the name
	// spec.network.hostName, or that of the object.
	// +optional
	Answers *SysprepAnswers `json:"answers,omitempty" protobuf:"bytes,2,opt,name=answers"`
}

// SysprepAnswers are the answers to what the setup of Windows asks.
type SysprepAnswers struct {
	// fullName of the user that Windows is registered for.
	// +required
	FullName string `json:"fullName" protobuf:"bytes,1,opt,name=fullName"`
	// organization that Windows is registered for.
	// +required
	Organization string `json:"organization" protobuf:"bytes,2,opt,name=organization"`
	// productKey selects the product key; key product-key when not named. Windows that was
	// installed with a volume licence needs none.
	// +optional
	ProductKey *SecretKeySelector `json:"productKey,omitempty" protobuf:"bytes,3,opt,name=productKey"`
	// administratorPassword selects the password of the account Administrator; key password
	// when not named. The account keeps what the image has when unset.
	// +optional
	AdministratorPassword *SecretKeySelector `json:"administratorPassword,omitempty" protobuf:"bytes,4,opt,name=administratorPassword"`
	// autoLogonCount is how often Administrator logs on by itself, 0 to 100. It needs
	// administratorPassword.
	// +optional
	AutoLogonCount int32 `json:"autoLogonCount,omitempty" protobuf:"varint,5,opt,name=autoLogonCount"`
	// timeZone is Microsoft's index of a time zone, 0 to 999. Defaults, when used, to 85, GMT
	// Standard Time.
	// +optional
	TimeZone *int32 `json:"timeZone,omitempty" protobuf:"varint,6,opt,name=timeZone"`
	// workgroup that the computer joins. Defaults, when used, to WORKGROUP if there is no
	// domain.
	// +optional
	Workgroup string `json:"workgroup,omitempty" protobuf:"bytes,7,opt,name=workgroup"`
	// domain that the computer joins. Excludes workgroup.
	// +optional
	Domain *SysprepDomain `json:"domain,omitempty" protobuf:"bytes,8,opt,name=domain"`
	// runOnce are commands that run when a user logs on for the first time, at most 64.
	// +optional
	// +listType=atomic
	RunOnce []string `json:"runOnce,omitempty" protobuf:"bytes,9,rep,name=runOnce"`
}

// SysprepDomain is an Active Directory domain that a computer joins.
type SysprepDomain struct {
	// name of the domain.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// user that may add computers to the domain.
	// +required
	User string `json:"user" protobuf:"bytes,2,opt,name=user"`
	// password selects the password of the user; key domain-password when not named.
	// +required
	Password *SecretKeySelector `json:"password" protobuf:"bytes,3,opt,name=password"`
	// organizationalUnit is where the computer goes, for example OU=Servers,DC=example,DC=org.
	// It needs vSphere 8.0 Update 2.
	// +optional
	OrganizationalUnit string `json:"organizationalUnit,omitempty" protobuf:"bytes,4,opt,name=organizationalUnit"`
}

// VAppConfigBootstrap sets OVF properties.
type VAppConfigBootstrap struct {
	// properties are OVF property values by key.
	// +optional
	Properties map[string]string `json:"properties,omitempty" protobuf:"bytes,1,rep,name=properties"`
	// rawProperties names a Secret whose keys and values are properties.
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
	// tcpSocket opens a TCP connection.
	// +optional
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" protobuf:"bytes,1,opt,name=tcpSocket"`
	// guestHeartbeat looks at the heartbeat of VMware Tools.
	// +optional
	GuestHeartbeat *GuestHeartbeatAction `json:"guestHeartbeat,omitempty" protobuf:"bytes,2,opt,name=guestHeartbeat"`
	// guestInfo compares guestinfo variables.
	// +optional
	// +listType=atomic
	GuestInfo []GuestInfoAction `json:"guestInfo,omitempty" protobuf:"bytes,3,rep,name=guestInfo"`
	// periodSeconds between probes of the kind tcpSocket, 1 to 3600. Defaults to 10. The
	// others are decided whenever vSphere reports a change.
	// +optional
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,4,opt,name=periodSeconds"`
	// timeoutSeconds of one probe of the kind tcpSocket, 1 to 60. Defaults to 10.
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,5,opt,name=timeoutSeconds"`
}

// TCPSocketAction opens a TCP connection.
type TCPSocketAction struct {
	// port of the guest, 1 to 65535.
	// +required
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port"`
	// host to connect to, one of the IP addresses that the guest reports; its primary one
	// when unset.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// GuestHeartbeatAction compares the heartbeat.
type GuestHeartbeatAction struct {
	// thresholdStatus is the lowest status that counts as ready, Yellow or
	// Green. Defaults to Green.
	// +optional
	ThresholdStatus GuestHeartbeatStatus `json:"thresholdStatus,omitempty" protobuf:"bytes,1,opt,name=thresholdStatus,casttype=GuestHeartbeatStatus"`
}

// GuestInfoAction compares one guestinfo variable.
type GuestInfoAction struct {
	// key without the prefix guestinfo.
	// +required
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// value is a regular expression (RE2) that the whole value must match; an
	// existing key suffices when empty. A value of more than 4096 bytes matches none.
	// +optional
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
}

// VirtualMachineGuestStatus is what VMware Tools reports of the guest.
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
	// heartbeat is the heartbeat colour.
	// +optional
	Heartbeat GuestHeartbeatStatus `json:"heartbeat,omitempty" protobuf:"bytes,6,opt,name=heartbeat,casttype=GuestHeartbeatStatus"`
	// bootTime is when the virtual machine was last powered on.
	// +optional
	BootTime *metav1.Time `json:"bootTime,omitempty" protobuf:"bytes,7,opt,name=bootTime"`
}
