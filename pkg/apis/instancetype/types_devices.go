// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

// GPU is one GPU of a virtual machine.
type GPU struct {
	// name tells the GPUs of one virtual machine apart.
	Name string

	// deviceName is the vGPU profile or the name of the passed through device.
	DeviceName string

	// virtualGPUOptions are settings of a shared GPU.
	VirtualGPUOptions *VGPUOptions

	// tag is handed to the guest to recognise the device by.
	Tag string

	// claimName names the resource claim that provides the device. It is stored
	// for compatibility and has no meaning on vSphere.
	ClaimName *string

	// requestName names the request within the claim. It is stored for
	// compatibility and has no meaning on vSphere.
	RequestName *string
}

// VGPUOptions are settings of a shared GPU.
type VGPUOptions struct {
	// display says whether and how the GPU drives a display.
	Display *VGPUDisplayOptions
}

// VGPUDisplayOptions says whether and how a shared GPU drives a display.
type VGPUDisplayOptions struct {
	// enabled turns the display on. Unset leaves it to the platform.
	Enabled *bool

	// ramFB gives the guest a frame buffer until its driver is loaded.
	RamFB *FeatureState
}

// HostDevice is one device of the host passed through to a virtual machine.
type HostDevice struct {
	// name tells the host devices of one virtual machine apart.
	Name string

	// deviceName is the name under which the host offers the device.
	DeviceName string

	// tag is handed to the guest to recognise the device by.
	Tag string

	// claimName names the resource claim that provides the device. It is stored
	// for compatibility and has no meaning on vSphere.
	ClaimName *string

	// requestName names the request within the claim. It is stored for
	// compatibility and has no meaning on vSphere.
	RequestName *string
}

// DiskIOThreads sets the number of I/O threads.
type DiskIOThreads struct {
	// supplementalPoolThreadCount is the number of threads in the pool that
	// ioThreadsPolicy supplementalPool uses.
	SupplementalPoolThreadCount *int32
}

// IOThreadsPolicy says how disks share I/O threads.
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
	SEV *SEV

	// snp asks for AMD SEV with Secure Nested Paging.
	SNP *SEVSNP

	// tdx asks for Intel Trust Domain Extensions.
	TDX *TDX
}

// SEV are the settings of AMD Secure Encrypted Virtualization.
type SEV struct {
	// policy says what is encrypted beside memory.
	Policy *SEVPolicy

	// attestation makes the virtual machine wait for attestation before it runs.
	Attestation *SEVAttestation

	// session is the session blob of the guest owner, base64.
	Session string

	// dhCert is the Diffie-Hellman certificate of the guest owner, base64.
	DHCert string
}

// SEVPolicy says what is encrypted beside memory.
type SEVPolicy struct {
	// encryptedState encrypts the registers too (SEV-ES).
	EncryptedState *bool
}

// SEVAttestation asks for attestation. It has no settings.
type SEVAttestation struct{}

// SEVSNP asks for SEV with Secure Nested Paging. It has no settings.
type SEVSNP struct{}

// TDX asks for Intel Trust Domain Extensions. It has no settings.
type TDX struct{}
