// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

// FirmwarePreferences is the preferred firmware. A virtual machine that chose
// BIOS or EFI itself keeps its choice.
type FirmwarePreferences struct {
	// preferredUseBios asks for BIOS.
	PreferredUseBios *bool

	// preferredUseBiosSerial asks for BIOS output on the serial console. It is
	// stored for compatibility and has no meaning on vSphere.
	PreferredUseBiosSerial *bool

	// preferredUseEfi asks for EFI.
	// Deprecated: set preferredEfi.
	DeprecatedPreferredUseEfi *bool

	// preferredUseSecureBoot asks for secure boot.
	// Deprecated: set preferredEfi.secureBoot.
	DeprecatedPreferredUseSecureBoot *bool

	// preferredEfi asks for EFI with these settings. It wins over the deprecated
	// fields.
	PreferredEfi *EFI
}

// EFI are the settings of EFI firmware.
type EFI struct {
	// secureBoot turns secure boot on. Unset stands for true.
	SecureBoot *bool

	// persistent keeps the EFI variables when the virtual machine is powered
	// off, as vSphere always does.
	Persistent *bool
}

// FeaturePreferences are the preferred hypervisor features.
type FeaturePreferences struct {
	// preferredAcpi is ACPI.
	PreferredAcpi *FeatureState

	// preferredApic is the interrupt controller.
	PreferredApic *FeatureAPIC

	// preferredHyperv are the Hyper-V enlightenments.
	PreferredHyperv *FeatureHyperv

	// preferredKvm are the features of KVM.
	PreferredKvm *FeatureKVM

	// preferredPvspinlock are paravirtual spinlocks.
	PreferredPvspinlock *FeatureState

	// preferredSmm is the System Management Mode.
	PreferredSmm *FeatureState
}

// FeatureState turns one feature on or off.
type FeatureState struct {
	// enabled is whether the feature is on. Unset stands for true.
	Enabled *bool
}

// FeatureAPIC is the interrupt controller.
type FeatureAPIC struct {
	// enabled is whether the feature is on. Unset stands for true.
	Enabled *bool

	// endOfInterrupt turns the paravirtual end-of-interrupt on.
	EndOfInterrupt bool
}

// FeatureKVM are the features of KVM.
type FeatureKVM struct {
	// hidden hides from the guest that it runs on KVM.
	Hidden bool
}

// FeatureHyperv are the Hyper-V enlightenments, each merged on its own. vSphere
// knows them only together, as virtualization-based security.
type FeatureHyperv struct {
	// relaxed tells the guest not to trust watchdogs.
	Relaxed *FeatureState

	// vapic is the virtual interrupt controller.
	VAPIC *FeatureState

	// spinlocks tells the guest how often to retry a spinlock.
	Spinlocks *FeatureSpinlocks

	// vpindex is the index of the virtual processor.
	VPIndex *FeatureState

	// runtime is the run time of the virtual processor.
	Runtime *FeatureState

	// synic is the synthetic interrupt controller.
	SyNIC *FeatureState

	// synictimer are the synthetic timers.
	SyNICTimer *SyNICTimer

	// reset lets the guest reset itself through Hyper-V.
	ResetFeature *FeatureState

	// vendorid is the vendor string shown to the guest.
	VendorID *FeatureVendorID

	// frequencies shows the frequencies of the clocks to the guest.
	Frequencies *FeatureState

	// reenlightenment tells the guest when its clock frequency changed.
	Reenlightenment *FeatureState

	// tlbflush lets the guest flush the translation buffers of other processors.
	TLBFlush *TLBFlush

	// ipi lets the guest interrupt other processors through Hyper-V.
	IPI *FeatureState

	// evmcs is the enlightened control structure of nested virtual machines.
	EVMCS *FeatureState
}

// FeatureSpinlocks tells the guest how often to retry a spinlock.
type FeatureSpinlocks struct {
	// enabled is whether the feature is on. Unset stands for true.
	Enabled *bool

	// spinlocks is the number of retries, at least 4096.
	Retries *int64
}

// SyNICTimer are the synthetic timers of Hyper-V.
type SyNICTimer struct {
	// enabled is whether the feature is on. Unset stands for true.
	Enabled *bool

	// direct turns the direct mode on.
	Direct *FeatureState
}

// TLBFlush lets a guest flush the translation buffers of other processors.
type TLBFlush struct {
	// enabled is whether the feature is on. Unset stands for true.
	Enabled *bool

	// direct lets nested guests flush directly.
	Direct *FeatureState

	// extended allows flushing parts only.
	Extended *FeatureState
}

// FeatureVendorID is the vendor string shown to a guest.
type FeatureVendorID struct {
	// enabled is whether the feature is on. Unset stands for true.
	Enabled *bool

	// vendorid is the vendor string, at most 12 characters.
	VendorID string
}
