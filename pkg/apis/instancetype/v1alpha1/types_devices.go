// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// GPU is one GPU of a virtual machine.
type GPU struct {
	// name tells the GPUs of one virtual machine apart.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// deviceName is the vGPU profile or the name of the passed through device.
	// +optional
	DeviceName string `json:"deviceName,omitempty" protobuf:"bytes,2,opt,name=deviceName"`

	// virtualGPUOptions are settings of a shared GPU.
	// +optional
	VirtualGPUOptions *VGPUOptions `json:"virtualGPUOptions,omitempty" protobuf:"bytes,3,opt,name=virtualGPUOptions"`

	// tag is handed to the guest to recognise the device by.
	// +optional
	Tag string `json:"tag,omitempty" protobuf:"bytes,4,opt,name=tag"`

	// claimName names the resource claim that provides the device. It is stored
	// for compatibility and has no meaning on vSphere.
	// +optional
	ClaimName *string `json:"claimName,omitempty" protobuf:"bytes,5,opt,name=claimName"`

	// requestName names the request within the claim. It is stored for
	// compatibility and has no meaning on vSphere.
	// +optional
	RequestName *string `json:"requestName,omitempty" protobuf:"bytes,6,opt,name=requestName"`
}

// VGPUOptions are settings of a shared GPU.
type VGPUOptions struct {
	// display says whether and how the GPU drives a display.
	// +optional
	Display *VGPUDisplayOptions `json:"display,omitempty" protobuf:"bytes,1,opt,name=display"`
}

// VGPUDisplayOptions says whether and how a shared GPU drives a display.
type VGPUDisplayOptions struct {
	// enabled turns the display on. Unset leaves it to the platform.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// ramFB gives the guest a frame buffer until its driver is loaded.
	// +optional
	RamFB *FeatureState `json:"ramFB,omitempty" protobuf:"bytes,2,opt,name=ramFB"`
}

// HostDevice is one device of the host passed through to a virtual machine.
type HostDevice struct {
	// name tells the host devices of one virtual machine apart.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// deviceName is the name under which the host offers the device.
	// +optional
	DeviceName string `json:"deviceName,omitempty" protobuf:"bytes,2,opt,name=deviceName"`

	// tag is handed to the guest to recognise the device by.
	// +optional
	Tag string `json:"tag,omitempty" protobuf:"bytes,3,opt,name=tag"`

	// claimName names the resource claim that provides the device. It is stored
	// for compatibility and has no meaning on vSphere.
	// +optional
	ClaimName *string `json:"claimName,omitempty" protobuf:"bytes,4,opt,name=claimName"`

	// requestName names the request within the claim. It is stored for
	// compatibility and has no meaning on vSphere.
	// +optional
	RequestName *string `json:"requestName,omitempty" protobuf:"bytes,5,opt,name=requestName"`
}

// DiskIOThreads sets the number of I/O threads.
type DiskIOThreads struct {
	// supplementalPoolThreadCount is the number of threads in the pool that
	// ioThreadsPolicy supplementalPool uses.
	// +optional
	SupplementalPoolThreadCount *int32 `json:"supplementalPoolThreadCount,omitempty" protobuf:"varint,1,opt,name=supplementalPoolThreadCount"`
}

// IOThreadsPolicy says how disks share I/O threads.
// +enum
type IOThreadsPolicy string

const (
	// IOThreadsPolicyShared lets all disks share one thread.
	IOThreadsPolicyShared IOThreadsPolicy = "shared"
	// IOThreadsPolicyAuto gives threads to disks in turn.
	IOThreadsPolicyAuto IOThreadsPolicy = "auto"
	// IOThreadsPolicySupplementalPool takes threads from a pool of fixed size.
	IOThreadsPolicySupplementalPool IOThreadsPolicy = "supplementalPool"
)

// LaunchSecurity asks for memory encryption and attestation at launch. At most
// one of its fields may be set.
type LaunchSecurity struct {
	// sev asks for AMD Secure Encrypted Virtualization.
	// +optional
	SEV *SEV `json:"sev,omitempty" protobuf:"bytes,1,opt,name=sev"`

	// snp asks for AMD SEV with Secure Nested Paging.
	// +optional
	SNP *SEVSNP `json:"snp,omitempty" protobuf:"bytes,2,opt,name=snp"`

	// tdx asks for Intel Trust Domain Extensions.
	// +optional
	TDX *TDX `json:"tdx,omitempty" protobuf:"bytes,3,opt,name=tdx"`
}

// SEV are the settings of AMD Secure Encrypted Virtualization.
type SEV struct {
	// policy says what is encrypted beside memory.
	// +optional
	Policy *SEVPolicy `json:"policy,omitempty" protobuf:"bytes,1,opt,name=policy"`

	// attestation makes the virtual machine wait for attestation before it runs.
	// +optional
	Attestation *SEVAttestation `json:"attestation,omitempty" protobuf:"bytes,2,opt,name=attestation"`

	// session is the session blob of the guest owner, base64.
	// +optional
	Session string `json:"session,omitempty" protobuf:"bytes,3,opt,name=session"`

	// dhCert is the Diffie-Hellman certificate of the guest owner, base64.
	// +optional
	DHCert string `json:"dhCert,omitempty" protobuf:"bytes,4,opt,name=dhCert"`
}

// SEVPolicy says what is encrypted beside memory.
type SEVPolicy struct {
	// encryptedState encrypts the registers too (SEV-ES).
	// +optional
	EncryptedState *bool `json:"encryptedState,omitempty" protobuf:"varint,1,opt,name=encryptedState"`
}

// SEVAttestation asks for attestation. It has no settings.
type SEVAttestation struct{}

// SEVSNP asks for SEV with Secure Nested Paging. It has no settings.
type SEVSNP struct{}

// TDX asks for Intel Trust Domain Extensions. It has no settings.
type TDX struct{}
