// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CPUPreferences is the preferred arrangement of vCPUs.
type CPUPreferences struct {
	// preferredCPUTopology says how the vCPUs of an instance type are arranged:
	// sockets, cores, threads, spread or any. Unset stands for sockets. The
	// older names preferSockets, preferCores, preferThreads, preferSpread and
	// preferAny are deprecated and mean the same.
	// +optional
	PreferredCPUTopology *PreferredCPUTopology `json:"preferredCPUTopology,omitempty" protobuf:"bytes,1,opt,name=preferredCPUTopology,casttype=PreferredCPUTopology"`

	// spreadOptions are the settings of the spread topology.
	// +optional
	SpreadOptions *SpreadOptions `json:"spreadOptions,omitempty" protobuf:"bytes,2,opt,name=spreadOptions"`

	// preferredCPUFeatures are CPU features to add where the virtual machine
	// does not name them. They are stored for compatibility: vSphere masks
	// features by EVC.
	// +optional
	// +listType=atomic
	PreferredCPUFeatures []CPUFeature `json:"preferredCPUFeatures,omitempty" protobuf:"bytes,3,rep,name=preferredCPUFeatures"`
}

// PreferredCPUTopology says how vCPUs are arranged.
// +enum
type PreferredCPUTopology string

const (
	// Sockets gives each vCPU a socket of its own.
	Sockets PreferredCPUTopology = "sockets"
	// Cores puts all vCPUs as cores in one socket.
	Cores PreferredCPUTopology = "cores"
	// Threads puts all vCPUs as threads in one core.
	Threads PreferredCPUTopology = "threads"
	// Spread divides the vCPUs over sockets, cores and threads.
	Spread PreferredCPUTopology = "spread"
	// Any states that the guest works with every arrangement.
	Any PreferredCPUTopology = "any"

	// DeprecatedPreferSockets is the older name of Sockets.
	DeprecatedPreferSockets PreferredCPUTopology = "preferSockets"
	// DeprecatedPreferCores is the older name of Cores.
	DeprecatedPreferCores PreferredCPUTopology = "preferCores"
	// DeprecatedPreferThreads is the older name of Threads.
	DeprecatedPreferThreads PreferredCPUTopology = "preferThreads"
	// DeprecatedPreferSpread is the older name of Spread.
	DeprecatedPreferSpread PreferredCPUTopology = "preferSpread"
	// DeprecatedPreferAny is the older name of Any.
	DeprecatedPreferAny PreferredCPUTopology = "preferAny"
)

// SpreadOptions are the settings of the spread topology.
type SpreadOptions struct {
	// across names what the vCPUs are divided over: SocketsCores,
	// SocketsCoresThreads or CoresThreads. Unset stands for SocketsCores.
	// +optional
	Across *SpreadAcross `json:"across,omitempty" protobuf:"bytes,1,opt,name=across,casttype=SpreadAcross"`

	// ratio is the number of cores per socket, or of threads per core across
	// CoresThreads, where only 2 is allowed. At least 1. Unset stands for
	// preferSpreadSocketToCoreRatio, and without that for 2.
	// +optional
	Ratio *int32 `json:"ratio,omitempty" protobuf:"varint,2,opt,name=ratio"`
}

// SpreadAcross names what vCPUs are divided over.
// +enum
type SpreadAcross string

const (
	// SpreadAcrossSocketsCoresThreads divides over sockets and cores of two
	// threads.
	SpreadAcrossSocketsCoresThreads SpreadAcross = "SocketsCoresThreads"
	// SpreadAcrossSocketsCores divides over sockets and cores.
	SpreadAcrossSocketsCores SpreadAcross = "SocketsCores"
	// SpreadAcrossCoresThreads divides over cores of two threads in one socket.
	SpreadAcrossCoresThreads SpreadAcross = "CoresThreads"
)

// CPUFeature is one CPU feature and whether the guest is to have it.
type CPUFeature struct {
	// name is the name of the feature.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// policy is one of force, require, optional, disable, forbid. Empty stands
	// for require.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,2,opt,name=policy"`
}
