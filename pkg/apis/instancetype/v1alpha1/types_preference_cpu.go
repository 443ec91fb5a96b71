// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CPUPreferences is the preferred vCPU topology.
type CPUPreferences struct {
	// preferredCPUTopology defines the topology of an instance type's vCPUs: sockets, cores, threads, spread or any.
	// Defaults, when used, to sockets. The deprecated names preferSockets, preferCores, preferThreads, preferSpread and
	// preferAny have the same meaning.
	// +optional
	PreferredCPUTopology *PreferredCPUTopology `json:"preferredCPUTopology,omitempty" protobuf:"bytes,1,opt,name=preferredCPUTopology,casttype=PreferredCPUTopology"`

	// spreadOptions configures the spread topology.
	// +optional
	SpreadOptions *SpreadOptions `json:"spreadOptions,omitempty" protobuf:"bytes,2,opt,name=spreadOptions"`

	// preferredCPUFeatures are the CPU features that are added if the virtual machine does not specify them. They are
	// stored for compatibility and have no effect on vSphere, where EVC masks features.
	// +optional
	// +listType=atomic
	PreferredCPUFeatures []CPUFeature `json:"preferredCPUFeatures,omitempty" protobuf:"bytes,3,rep,name=preferredCPUFeatures"`
}

// PreferredCPUTopology defines the topology of vCPUs.
// +enum
type PreferredCPUTopology string

const (
	// Sockets assigns each vCPU to its own socket.
	Sockets PreferredCPUTopology = "sockets"
	// Cores assigns all vCPUs to cores of one socket.
	Cores PreferredCPUTopology = "cores"
	// Threads assigns all vCPUs to threads of one core.
	Threads PreferredCPUTopology = "threads"
	// Spread distributes the vCPUs over sockets, cores and threads.
	Spread PreferredCPUTopology = "spread"
	// Any means that the guest supports every topology.
	Any PreferredCPUTopology = "any"

	// DeprecatedPreferSockets is the deprecated name of Sockets.
	DeprecatedPreferSockets PreferredCPUTopology = "preferSockets"
	// DeprecatedPreferCores is the deprecated name of Cores.
	DeprecatedPreferCores PreferredCPUTopology = "preferCores"
	// DeprecatedPreferThreads is the deprecated name of Threads.
	DeprecatedPreferThreads PreferredCPUTopology = "preferThreads"
	// DeprecatedPreferSpread is the deprecated name of Spread.
	DeprecatedPreferSpread PreferredCPUTopology = "preferSpread"
	// DeprecatedPreferAny is the deprecated name of Any.
	DeprecatedPreferAny PreferredCPUTopology = "preferAny"
)

// SpreadOptions configures the spread topology.
type SpreadOptions struct {
	// across defines the levels over which the vCPUs are distributed: SocketsCores, SocketsCoresThreads or CoresThreads.
	// Defaults, when used, to SocketsCores.
	// +optional
	Across *SpreadAcross `json:"across,omitempty" protobuf:"bytes,1,opt,name=across,casttype=SpreadAcross"`

	// ratio is the number of cores per socket or, with CoresThreads, of threads per core, which must be 2. Minimum 1.
	// Defaults, when used, to preferSpreadSocketToCoreRatio or else to 2.
	// +optional
	Ratio *int32 `json:"ratio,omitempty" protobuf:"varint,2,opt,name=ratio"`
}

// SpreadAcross defines the levels over which vCPUs are distributed.
// +enum
type SpreadAcross string

const (
	// SpreadAcrossSocketsCoresThreads distributes vCPUs over sockets and cores with two threads each.
	SpreadAcrossSocketsCoresThreads SpreadAcross = "SocketsCoresThreads"
	// SpreadAcrossSocketsCores distributes vCPUs over sockets and cores.
	SpreadAcrossSocketsCores SpreadAcross = "SocketsCores"
	// SpreadAcrossCoresThreads distributes vCPUs over cores with two threads each, in one socket.
	SpreadAcrossCoresThreads SpreadAcross = "CoresThreads"
)

// CPUFeature is a CPU feature and its policy.
type CPUFeature struct {
	// name is the name of the feature.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// policy is force, require, optional, disable or forbid. Defaults, when used, to require.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,2,opt,name=policy"`
}
