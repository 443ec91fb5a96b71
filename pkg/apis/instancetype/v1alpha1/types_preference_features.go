// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FirmwarePreferences is the preferred firmware. A virtual machine that chose
// BIOS or EFI itself keeps its choice.
type FirmwarePreferences struct {
	// preferredUseBios asks for BIOS.
	// +optional
	PreferredUseBios *bool `json:"preferredUseBios,omitempty"`

	// preferredUseBiosSerial asks for BIOS output on the serial console. It is
	// stored for compatibility and has no meaning on vSphere.
	// +optional
	PreferredUseBiosSerial *bool `json:"preferredUseBiosSerial,omitempty"`

	// preferredUseEfi asks for EFI.
	// Deprecated: set preferredEfi.
	// +optional
	DeprecatedPreferredUseEfi *bool `json:"preferredUseEfi,omitempty"`

	// preferredUseSecureBoot asks for secure boot.
	// Deprecated: set preferredEfi.secureBoot.
	// +optional
	DeprecatedPreferredUseSecureBoot *bool `json:"preferredUseSecureBoot,omitempty"`

	// preferredEfi asks for EFI with these settings. It wins over the deprecated
	// fields.
	// +optional
	PreferredEfi *EFI `json:"preferredEfi,omitempty"`
}

// EFI are the settings of EFI firmware.
type EFI struct {
	// secureBoot turns secure boot on. Unset stands for true.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty"`

	// persistent keeps the EFI variables when the virtual machine is powered
	// off, as vSphere always does.
	// +optional
	Persistent *bool `json:"persistent,omitempty"`
}

// FeaturePreferences are the preferred hypervisor features.
type FeaturePreferences struct {
	// preferredAcpi is ACPI.
	// +optional
	PreferredAcpi *FeatureState `json:"preferredAcpi,omitempty"`

	// preferredApic is the interrupt controller.
	// +optional
	PreferredApic *FeatureAPIC `json:"preferredApic,omitempty"`

	// preferredHyperv are the Hyper-V enlightenments.
	// +optional
	PreferredHyperv *FeatureHyperv `json:"preferredHyperv,omitempty"`

	// preferredKvm are the features of KVM.
	// +optional
	PreferredKvm *FeatureKVM `json:"preferredKvm,omitempty"`

	// preferredPvspinlock are paravirtual spinlocks.
	// +optional
	PreferredPvspinlock *FeatureState `json:"preferredPvspinlock,omitempty"`

	// preferredSmm is the System Management Mode.
	// +optional
	PreferredSmm *FeatureState `json:"preferredSmm,omitempty"`
}

// FeatureState turns one feature on or off.
type FeatureState struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// FeatureAPIC is the interrupt controller.
type FeatureAPIC struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// endOfInterrupt turns the paravirtual end-of-interrupt on.
	// +optional
	EndOfInterrupt bool `json:"endOfInterrupt,omitempty"`
}

// FeatureKVM are the features of KVM.
type FeatureKVM struct {
	// hidden hides from the guest that it runs on KVM.
	// +optional
	Hidden bool `json:"hidden,omitempty"`
}

// FeatureHyperv are the Hyper-V enlightenments, each merged on its own. vSphere
// knows them only together, as virtualization-based security.
type FeatureHyperv struct {
	// relaxed tells the guest not to trust watchdogs.
	// +optional
	Relaxed *FeatureState `json:"relaxed,omitempty"`

	// vapic is the virtual interrupt controller.
	// +optional
	VAPIC *FeatureState `json:"vapic,omitempty"`

	// spinlocks tells the guest how often to retry a spinlock.
	// +optional
	Spinlocks *FeatureSpinlocks `json:"spinlocks,omitempty"`

	// vpindex is the index of the virtual processor.
	// +optional
	VPIndex *FeatureState `json:"vpindex,omitempty"`

	// runtime is the run time of the virtual processor.
	// +optional
	Runtime *FeatureState `json:"runtime,omitempty"`

	// synic is the synthetic interrupt controller.
	// +optional
	SyNIC *FeatureState `json:"synic,omitempty"`

	// synictimer are the synthetic timers.
	// +optional
	SyNICTimer *SyNICTimer `json:"synictimer,omitempty"`

	// reset lets the guest reset itself through Hyper-V.
	// +optional
	ResetFeature *FeatureState `json:"reset,omitempty"`

	// vendorid is the vendor string shown to the guest.
	// +optional
	VendorID *FeatureVendorID `json:"vendorid,omitempty"`

	// frequencies shows the frequencies of the clocks to the guest.
	// +optional
	Frequencies *FeatureState `json:"frequencies,omitempty"`

	// reenlightenment tells the guest when its clock frequency changed.
	// +optional
	Reenlightenment *FeatureState `json:"reenlightenment,omitempty"`

	// tlbflush lets the guest flush the translation buffers of other processors.
	// +optional
	TLBFlush *TLBFlush `json:"tlbflush,omitempty"`

	// ipi lets the guest interrupt other processors through Hyper-V.
	// +optional
	IPI *FeatureState `json:"ipi,omitempty"`

	// evmcs is the enlightened control structure of nested virtual machines.
	// +optional
	EVMCS *FeatureState `json:"evmcs,omitempty"`
}

// FeatureSpinlocks tells the guest how often to retry a spinlock.
type FeatureSpinlocks struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// spinlocks is the number of retries, at least 4096.
	// +optional
	Retries *int64 `json:"spinlocks,omitempty"`
}

// SyNICTimer are the synthetic timers of Hyper-V.
type SyNICTimer struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// direct turns the direct mode on.
	// +optional
	Direct *FeatureState `json:"direct,omitempty"`
}

// TLBFlush lets a guest flush the translation buffers of other processors.
type TLBFlush struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// direct lets nested guests flush directly.
	// +optional
	Direct *FeatureState `json:"direct,omitempty"`

	// extended allows flushing parts only.
	// +optional
	Extended *FeatureState `json:"extended,omitempty"`
}

// FeatureVendorID is the vendor string shown to a guest.
type FeatureVendorID struct {
	// enabled is whether the feature is on. Unset stands for true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// vendorid is the vendor string, at most 12 characters.
	// +optional
	VendorID string `json:"vendorid,omitempty"`
}
