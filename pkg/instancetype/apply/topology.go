// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// defaultSpreadRatio is the default ratio of the spread topology, as in KubeVirt.
const defaultSpreadRatio = 2

// threadsPerCore is the number of threads per core in spread topologies with threads.
const threadsPerCore = 2

// Topology is a CPU topology. The number of vCPUs is the product of its fields.
type Topology struct {
	// Sockets is at least 1.
	Sockets int32
	// Cores per socket is at least 1.
	Cores int32
	// Threads per core is at least 1.
	Threads int32
}

// PreferredTopology returns the canonical topology in pref: sockets, cores, threads, spread or any. The default is
// sockets.
func PreferredTopology(pref *itv1alpha1.VirtualMachinePreferenceSpec) itv1alpha1.PreferredCPUTopology {
	if pref == nil || pref.CPU == nil || pref.CPU.PreferredCPUTopology == nil {
		return itv1alpha1.Sockets
	}
	switch t := *pref.CPU.PreferredCPUTopology; t {
	case itv1alpha1.DeprecatedPreferSockets, "":
		return itv1alpha1.Sockets
	case itv1alpha1.DeprecatedPreferCores:
		return itv1alpha1.Cores
	case itv1alpha1.DeprecatedPreferThreads:
		return itv1alpha1.Threads
	case itv1alpha1.DeprecatedPreferSpread:
		return itv1alpha1.Spread
	case itv1alpha1.DeprecatedPreferAny:
		return itv1alpha1.Any
	default:
		return t
	}
}

// Arrange returns the topology of vcpus that pref requests. It returns an error if they cannot be divided; a single
// vCPU always can.
func Arrange(vcpus int32, pref *itv1alpha1.VirtualMachinePreferenceSpec) (Topology, error) {
	if vcpus < 1 {
		return Topology{}, fmt.Errorf("%d vCPUs are not allowed: at least 1 is required", vcpus)
	}
	if vcpus == 1 {
		return Topology{Sockets: 1, Cores: 1, Threads: 1}, nil
	}
	switch topology := PreferredTopology(pref); topology {
	case itv1alpha1.Sockets, itv1alpha1.Any:
		return Topology{Sockets: vcpus, Cores: 1, Threads: 1}, nil
	case itv1alpha1.Cores:
		return Topology{Sockets: 1, Cores: vcpus, Threads: 1}, nil
	case itv1alpha1.Threads:
		return Topology{Sockets: 1, Cores: 1, Threads: vcpus}, nil
	case itv1alpha1.Spread:
		return spread(vcpus, pref)
	default:
		return Topology{}, fmt.Errorf(
			"unknown preferredCPUTopology %q: allowed are sockets, cores, threads, spread, any", topology)
	}
}

// spread divides vcpus into two or three levels.
func spread(vcpus int32, pref *itv1alpha1.VirtualMachinePreferenceSpec) (Topology, error) {
	across, ratio := spreadOptions(pref)
	if ratio < 1 {
		return Topology{}, fmt.Errorf("spread ratio %d is not allowed: it must be at least 1", ratio)
	}
	switch across {
	case itv1alpha1.SpreadAcrossSocketsCores:
		if vcpus%ratio != 0 {
			return Topology{}, notDivisible(vcpus, across, ratio)
		}
		return Topology{Sockets: vcpus / ratio, Cores: ratio, Threads: 1}, nil
	case itv1alpha1.SpreadAcrossCoresThreads:
		if ratio != threadsPerCore {
			return Topology{}, fmt.Errorf("spread ratio %d is not allowed across %s: it must be %d", ratio, across, threadsPerCore)
		}
		if vcpus%ratio != 0 {
			return Topology{}, notDivisible(vcpus, across, ratio)
		}
		return Topology{Sockets: 1, Cores: vcpus / ratio, Threads: ratio}, nil
	case itv1alpha1.SpreadAcrossSocketsCoresThreads:
		// int64, so that twice a large ratio does not overflow
		if int64(vcpus)%(int64(ratio)*threadsPerCore) != 0 {
			return Topology{}, notDivisible(vcpus, across, ratio)
		}
		return Topology{Sockets: vcpus / threadsPerCore / ratio, Cores: ratio, Threads: threadsPerCore}, nil
	default:
		return Topology{}, fmt.Errorf(
			"spread across %q is not supported: allowed are SocketsCores, SocketsCoresThreads, CoresThreads", across)
	}
}

func spreadOptions(pref *itv1alpha1.VirtualMachinePreferenceSpec) (itv1alpha1.SpreadAcross, int32) {
	across, ratio := itv1alpha1.SpreadAcrossSocketsCores, int32(defaultSpreadRatio)
	if pref.PreferSpreadSocketToCoreRatio != 0 {
		ratio = pref.PreferSpreadSocketToCoreRatio
	}
	if pref.CPU != nil && pref.CPU.SpreadOptions != nil {
		options := pref.CPU.SpreadOptions
		if options.Across != nil && *options.Across != "" {
			across = *options.Across
		}
		if options.Ratio != nil {
			ratio = *options.Ratio
		}
	}
	return across, ratio
}

func notDivisible(vcpus int32, across itv1alpha1.SpreadAcross, ratio int32) error {
	unit := int64(ratio)
	if across == itv1alpha1.SpreadAcrossSocketsCoresThreads {
		unit *= threadsPerCore
	}
	return fmt.Errorf("%d vCPUs of the instance type cannot be spread across %s with ratio %d: a multiple of %d is required",
		vcpus, across, ratio, unit)
}
