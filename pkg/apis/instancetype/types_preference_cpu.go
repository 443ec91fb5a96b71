// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

// CPUPreferences is the preferred arrangement of vCPUs.
type CPUPreferences struct {
	// preferredCPUTopology says how the vCPUs of an instance type are arranged:
	// sockets, cores, threads, spread or any. Unset stands for sockets. The
	// older names preferSockets, preferCores, preferThreads, preferSpread and
	// preferAny are deprecated and mean the same.
	PreferredCPUTopology *PreferredCPUTopology

	// spreadOptions are the settings of the spread topology.
	SpreadOptions *SpreadOptions

	// preferredCPUFeatures are CPU features to add where the virtual machine
	// does not name them. They are stored for compatibility: vSphere masks
	// features by EVC.
	PreferredCPUFeatures []CPUFeature
}

// PreferredCPUTopology says how vCPUs are arranged.
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
	Across *SpreadAcross

	// ratio is the number of cores per socket, or of threads per core across
	// CoresThreads, where only 2 is allowed. At least 1. Unset stands for
	// preferSpreadSocketToCoreRatio, and without that for 2.
	Ratio *int32
}

// SpreadAcross names what vCPUs are divided over.
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
	Name string

	// policy is one of force, require, optional, disable, forbid. Empty stands
	// for require.
	Policy string
}
