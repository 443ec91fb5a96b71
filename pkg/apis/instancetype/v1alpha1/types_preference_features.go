// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FirmwarePreferences is the preferred firmware. A virtual machine that chose
// BIOS or EFI itself keeps its choice.
type FirmwarePreferences struct {
	// preferredUseBios asks for BIOS.
	// +optional
	PreferredUseBios *bool `json:"preferredUseBios,omitempty" protobuf:"varint,1,opt,name=preferredUseBios"`

	// preferredUseBiosSerial asks for BIOS output on the serial console. It is
	// stored for compatibility and has no meaning on vSphere.
	// +optional
	PreferredUseBiosSerial *bool `json:"preferredUseBiosSerial,omitempty" protobuf:"varint,2,opt,name=preferredUseBiosSerial"`

	// preferredUseEfi asks for EFI.
	// Deprecated: set preferredEfi.
	// +optional
	DeprecatedPreferredUseEfi *bool `json:"preferredUseEfi,omitempty" protobuf:"varint,3,opt,name=preferredUseEfi"`

	// preferredUseSecureBoot asks for secure boot.
	// Deprecated: set preferredEfi.secureBoot.
	// +optional
	DeprecatedPreferredUseSecureBoot *bool `json:"preferredUseSecureBoot,omitempty" protobuf:"varint,4,opt,name=preferredUseSecureBoot"`

	// preferredEfi asks for EFI with these settings. It wins over the deprecated
	// fields.
	// +optional
	PreferredEfi *EFI `json:"preferredEfi,omitempty" protobuf:"bytes,5,opt,name=preferredEfi"`
}

// EFI are the settings of EFI firmware.
type EFI struct {
	// secureBoot turns secure boot on. Unset stands for true.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty" protobuf:"varint,1,opt,name=secureBoot"`

	// persistent keeps the EFI variables when the virtual machine is powered
	// off, as vSphere always does.
	// +optional
	Persistent *bool `json:"persistent,omitempty" protobuf:"varint,2,opt,name=persistent"`
}

// FeaturePreferences are the preferred hypervisor features.
type FeaturePreferences struct {
	// preferredAcpi is ACPI.
	// +optional
	PreferredAcpi *FeatureState `json:"preferredAcpi,omitempty" protobuf:"bytes,1,opt,name=preferredAcpi"`

	// preferredApic is the interrupt controller.
	// +optional
	PreferredApic *FeatureAPIC `json:"preferredApic,omitempty" protobuf:"bytes,2,opt,name=preferredApic"`

	// preferredHyperv are the Hyper-V enlightenments.
	// +optional
	PreferredHyperv *FeatureHyperv `json:"preferredHyperv,omitempty" protobuf:"bytes,3,opt,name=preferredHyperv"`

	// preferredKvm are the features of KVM.
	// +optional
	PreferredKvm *FeatureKVM `json:"preferredKvm,omitempty" protobuf:"bytes,4,opt,name=preferredKvm"`

	// preferredPvspinlock are paravirtual spinlocks.
	// +optional
	PreferredPvspinlock *FeatureState `json:"preferredPvspinlock,omitempty" protobuf:"bytes,5,opt,name=preferredPvspinlock"`

	// preferredSmm is the System Management Mode.
	// +optional
	PreferredSmm *FeatureState `json:"preferredSmm,omitempty" protobuf:"bytes,6,opt,name=preferredSmm"`
}

// FeatureState turns one feature on or off.
type FeatureState struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
}

// FeatureAPIC is the interrupt controller.
type FeatureAPIC struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// endOfInterrupt turns the paravirtual end-of-interrupt on.
	// +optional
	EndOfInterrupt bool `json:"endOfInterrupt,omitempty" protobuf:"varint,2,opt,name=endOfInterrupt"`
}

// FeatureKVM are the features of KVM.
type FeatureKVM struct {
	// hidden hides from the guest that it runs on KVM.
	// +optional
	Hidden bool `json:"hidden,omitempty" protobuf:"varint,1,opt,name=hidden"`
}

// FeatureHyperv are the Hyper-V enlightenments, each merged on its own. vSphere
// knows them only together, as virtualization-based security.
type FeatureHyperv struct {
	// relaxed tells the guest not to trust watchdogs.
	// +optional
	Relaxed *FeatureState `json:"relaxed,omitempty" protobuf:"bytes,1,opt,name=relaxed"`

	// vapic is the virtual interrupt controller.
	// +optional
	VAPIC *FeatureState `json:"vapic,omitempty" protobuf:"bytes,2,opt,name=vapic"`

	// spinlocks tells the guest how often to retry a spinlock.
	// +optional
	Spinlocks *FeatureSpinlocks `json:"spinlocks,omitempty" protobuf:"bytes,3,opt,name=spinlocks"`

	// vpindex is the index of the virtual processor.
	// +optional
	VPIndex *FeatureState `json:"vpindex,omitempty" protobuf:"bytes,4,opt,name=vpindex"`

	// runtime is the run time of the virtual processor.
	// +optional
	Runtime *FeatureState `json:"runtime,omitempty" protobuf:"bytes,5,opt,name=runtime"`

	// synic is the synthetic interrupt controller.
	// +optional
	SyNIC *FeatureState `json:"synic,omitempty" protobuf:"bytes,6,opt,name=synic"`

	// synictimer are the synthetic timers.
	// +optional
	SyNICTimer *SyNICTimer `json:"synictimer,omitempty" protobuf:"bytes,7,opt,name=synictimer"`

	// reset lets the guest reset itself through Hyper-V.
	// +optional
	ResetFeature *FeatureState `json:"reset,omitempty" protobuf:"bytes,8,opt,name=reset"`

	// vendorid is the vendor string shown to the guest.
	// +optional
	VendorID *FeatureVendorID `json:"vendorid,omitempty" protobuf:"bytes,9,opt,name=vendorid"`

	// frequencies shows the frequencies of the clocks to the guest.
	// +optional
	Frequencies *FeatureState `json:"frequencies,omitempty" protobuf:"bytes,10,opt,name=frequencies"`

	// reenlightenment tells the guest when its clock frequency changed.
	// +optional
	Reenlightenment *FeatureState `json:"reenlightenment,omitempty" protobuf:"bytes,11,opt,name=reenlightenment"`

	// tlbflush lets the guest flush the translation buffers of other processors.
	// +optional
	TLBFlush *TLBFlush `json:"tlbflush,omitempty" protobuf:"bytes,12,opt,name=tlbflush"`

	// ipi lets the guest interrupt other processors through Hyper-V.
	// +optional
	IPI *FeatureState `json:"ipi,omitempty" protobuf:"bytes,13,opt,name=ipi"`

	// evmcs is the enlightened control structure of nested virtual machines.
	// +optional
	EVMCS *FeatureState `json:"evmcs,omitempty" protobuf:"bytes,14,opt,name=evmcs"`
}

// FeatureSpinlocks tells the guest how often to retry a spinlock.
type FeatureSpinlocks struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// spinlocks is the number of retries, at least 4096.
	// +optional
	Retries *int64 `json:"spinlocks,omitempty" protobuf:"varint,2,opt,name=spinlocks"`
}

// SyNICTimer are the synthetic timers of Hyper-V.
type SyNICTimer struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// direct turns the direct mode on.
	// +optional
	Direct *FeatureState `json:"direct,omitempty" protobuf:"bytes,2,opt,name=direct"`
}

// TLBFlush lets a guest flush the translation buffers of other processors.
type TLBFlush struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// direct lets nested guests flush directly.
	// +optional
	Direct *FeatureState `json:"direct,omitempty" protobuf:"bytes,2,opt,name=direct"`

	// extended allows flushing parts only.
	// +optional
	Extended *FeatureState `json:"extended,omitempty" protobuf:"bytes,3,opt,name=extended"`
}

// FeatureVendorID is the vendor string shown to a guest.
type FeatureVendorID struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// vendorid is the vendor string, at most 12 characters.
	// +optional
	VendorID string `json:"vendorid,omitempty" protobuf:"bytes,2,opt,name=vendorid"`
}
