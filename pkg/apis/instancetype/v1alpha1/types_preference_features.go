// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FirmwarePreferences is the preferred firmware. It has no effect on a virtual machine that specifies BIOS or EFI
// itself.
type FirmwarePreferences struct {
	// preferredUseBios selects BIOS.
	// +optional
	PreferredUseBios *bool `json:"preferredUseBios,omitempty" protobuf:"varint,1,opt,name=preferredUseBios"`

	// preferredUseBiosSerial enables BIOS output on the serial console. It is stored for compatibility and has no effect
	// on vSphere.
	// +optional
	PreferredUseBiosSerial *bool `json:"preferredUseBiosSerial,omitempty" protobuf:"varint,2,opt,name=preferredUseBiosSerial"`

	// preferredUseEfi selects EFI. Deprecated: use preferredEfi.
	// +optional
	DeprecatedPreferredUseEfi *bool `json:"preferredUseEfi,omitempty" protobuf:"varint,3,opt,name=preferredUseEfi"`

	// preferredUseSecureBoot enables secure boot. Deprecated: use preferredEfi.secureBoot.
	// +optional
	DeprecatedPreferredUseSecureBoot *bool `json:"preferredUseSecureBoot,omitempty" protobuf:"varint,4,opt,name=preferredUseSecureBoot"`

	// preferredEfi selects EFI with these settings. It takes precedence over the deprecated fields.
	// +optional
	PreferredEfi *EFI `json:"preferredEfi,omitempty" protobuf:"bytes,5,opt,name=preferredEfi"`
}

// EFI are the settings of EFI firmware.
type EFI struct {
	// secureBoot enables secure boot. Defaults, when used, to true.
	// +optional
	SecureBoot *bool `json:"secureBoot,omitempty" protobuf:"varint,1,opt,name=secureBoot"`

	// persistent preserves the EFI variables across power cycles. vSphere always does this.
	// +optional
	Persistent *bool `json:"persistent,omitempty" protobuf:"varint,2,opt,name=persistent"`
}

// FeaturePreferences are the preferred hypervisor features. They are stored for compatibility and have no effect on
// vSphere.
type FeaturePreferences struct {
	// preferredAcpi enables or disables ACPI.
	// +optional
	PreferredAcpi *FeatureState `json:"preferredAcpi,omitempty" protobuf:"bytes,1,opt,name=preferredAcpi"`

	// preferredApic configures the interrupt controller (APIC).
	// +optional
	PreferredApic *FeatureAPIC `json:"preferredApic,omitempty" protobuf:"bytes,2,opt,name=preferredApic"`

	// preferredHyperv configures the Hyper-V enlightenments.
	// +optional
	PreferredHyperv *FeatureHyperv `json:"preferredHyperv,omitempty" protobuf:"bytes,3,opt,name=preferredHyperv"`

	// preferredKvm configures KVM features.
	// +optional
	PreferredKvm *FeatureKVM `json:"preferredKvm,omitempty" protobuf:"bytes,4,opt,name=preferredKvm"`

	// preferredPvspinlock enables or disables paravirtual spinlocks.
	// +optional
	PreferredPvspinlock *FeatureState `json:"preferredPvspinlock,omitempty" protobuf:"bytes,5,opt,name=preferredPvspinlock"`

	// preferredSmm enables or disables System Management Mode.
	// +optional
	PreferredSmm *FeatureState `json:"preferredSmm,omitempty" protobuf:"bytes,6,opt,name=preferredSmm"`
}

// FeatureState enables or disables a feature.
type FeatureState struct {
	// enabled defines whether the feature is enabled. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
}

// FeatureAPIC is the interrupt controller.
type FeatureAPIC struct {
	// enabled defines whether the feature is enabled. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// endOfInterrupt enables the paravirtual end-of-interrupt.
	// +optional
	EndOfInterrupt bool `json:"endOfInterrupt,omitempty" protobuf:"varint,2,opt,name=endOfInterrupt"`
}

// FeatureKVM are the features of KVM.
type FeatureKVM struct {
	// hidden hides from the guest that it runs on KVM.
	// +optional
	Hidden bool `json:"hidden,omitempty" protobuf:"varint,1,opt,name=hidden"`
}

// FeatureHyperv configures the Hyper-V enlightenments, each of which is merged separately. They are stored for
// compatibility and have no effect on vSphere.
type FeatureHyperv struct {
	// relaxed informs the guest that watchdog timers are not reliable.
	// +optional
	Relaxed *FeatureState `json:"relaxed,omitempty" protobuf:"bytes,1,opt,name=relaxed"`

	// vapic is the virtual interrupt controller.
	// +optional
	VAPIC *FeatureState `json:"vapic,omitempty" protobuf:"bytes,2,opt,name=vapic"`

	// spinlocks sets the number of spinlock retries of the guest.
	// +optional
	Spinlocks *FeatureSpinlocks `json:"spinlocks,omitempty" protobuf:"bytes,3,opt,name=spinlocks"`

	// vpindex provides the index of the virtual processor.
	// +optional
	VPIndex *FeatureState `json:"vpindex,omitempty" protobuf:"bytes,4,opt,name=vpindex"`

	// runtime provides the run time of the virtual processor.
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

	// vendorid is the vendor string that the guest sees.
	// +optional
	VendorID *FeatureVendorID `json:"vendorid,omitempty" protobuf:"bytes,9,opt,name=vendorid"`

	// frequencies shows the frequencies of the clocks to the guest.
	// +optional
	Frequencies *FeatureState `json:"frequencies,omitempty" protobuf:"bytes,10,opt,name=frequencies"`

	// reenlightenment notifies the guest of changes of its clock frequency.
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

// FeatureSpinlocks sets the number of spinlock retries of a guest.
type FeatureSpinlocks struct {
	// enabled defines whether the feature is enabled. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// spinlocks is the number of retries. Minimum 4096.
	// +optional
	Retries *int64 `json:"spinlocks,omitempty" protobuf:"varint,2,opt,name=spinlocks"`
}

// SyNICTimer are the synthetic timers of Hyper-V.
type SyNICTimer struct {
	// enabled defines whether the feature is enabled. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// direct enables direct mode.
	// +optional
	Direct *FeatureState `json:"direct,omitempty" protobuf:"bytes,2,opt,name=direct"`
}

// TLBFlush lets a guest flush the translation buffers of other processors.
type TLBFlush struct {
	// enabled defines whether the feature is enabled. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// direct lets nested guests flush directly.
	// +optional
	Direct *FeatureState `json:"direct,omitempty" protobuf:"bytes,2,opt,name=direct"`

	// extended allows partial flushes.
	// +optional
	Extended *FeatureState `json:"extended,omitempty" protobuf:"bytes,3,opt,name=extended"`
}

// FeatureVendorID is the vendor string that the guest sees.
type FeatureVendorID struct {
	// enabled defines whether the feature is enabled. Defaults, when used, to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`

	// vendorid is the vendor string, at most 12 characters.
	// +optional
	VendorID string `json:"vendorid,omitempty" protobuf:"bytes,2,opt,name=vendorid"`
}
