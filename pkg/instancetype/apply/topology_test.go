// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

func TestArrange_UsesAllVCPUs(t *testing.T) {
	const (
		cores      = `{cpu: {preferredCPUTopology: cores}}`
		threads    = `{cpu: {preferredCPUTopology: threads}}`
		spread     = `{cpu: {preferredCPUTopology: spread}}`
		spread3    = `{cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: 3}}}`
		legacy4    = `{preferSpreadSocketToCoreRatio: 4, cpu: {preferredCPUTopology: spread}}`
		sct        = `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads}}}`
		sct3       = `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads, ratio: 3}}}`
		sct4       = `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads, ratio: 4}}}`
		ct         = `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: CoresThreads}}}`
		ratioWins  = `{preferSpreadSocketToCoreRatio: 4, cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: 3}}}`
		deprecated = `{cpu: {preferredCPUTopology: preferCores}}`
	)
	for _, tc := range []struct {
		name  string
		pref  string
		vcpus int32
		want  apply.Topology
	}{
		{"F61 default topology is sockets", "", 4, apply.Topology{Sockets: 4, Cores: 1, Threads: 1}},
		{"F61 sockets", `{cpu: {preferredCPUTopology: sockets}}`, 4, apply.Topology{Sockets: 4, Cores: 1, Threads: 1}},
		{"F61 any is the same as sockets", `{cpu: {preferredCPUTopology: any}}`, 4, apply.Topology{Sockets: 4, Cores: 1, Threads: 1}},
		{"F62 cores", cores, 4, apply.Topology{Sockets: 1, Cores: 4, Threads: 1}},
		{"F62 deprecated name of cores", deprecated, 4, apply.Topology{Sockets: 1, Cores: 4, Threads: 1}},
		{"F63 threads", threads, 4, apply.Topology{Sockets: 1, Cores: 1, Threads: 4}},
		{"F64 spread 1", spread, 1, apply.Topology{Sockets: 1, Cores: 1, Threads: 1}},
		{"F64 spread 2", spread, 2, apply.Topology{Sockets: 1, Cores: 2, Threads: 1}},
		{"F64 spread 4", spread, 4, apply.Topology{Sockets: 2, Cores: 2, Threads: 1}},
		{"F64 spread 6", spread, 6, apply.Topology{Sockets: 3, Cores: 2, Threads: 1}},
		{"F64 spread 8", spread, 8, apply.Topology{Sockets: 4, Cores: 2, Threads: 1}},
		{"F65 ratio 3 of 3", spread3, 3, apply.Topology{Sockets: 1, Cores: 3, Threads: 1}},
		{"F65 ratio 3 of 6", spread3, 6, apply.Topology{Sockets: 2, Cores: 3, Threads: 1}},
		{"F65 ratio 3 of 9", spread3, 9, apply.Topology{Sockets: 3, Cores: 3, Threads: 1}},
		{"F65 ratio 3 of 12", spread3, 12, apply.Topology{Sockets: 4, Cores: 3, Threads: 1}},
		{"F65 ratio 4 of 4 in the older field", legacy4, 4, apply.Topology{Sockets: 1, Cores: 4, Threads: 1}},
		{"F65 ratio 4 of 8 in the older field", legacy4, 8, apply.Topology{Sockets: 2, Cores: 4, Threads: 1}},
		{"F65 ratio 4 of 12 in the older field", legacy4, 12, apply.Topology{Sockets: 3, Cores: 4, Threads: 1}},
		{"F65 ratio 4 of 16 in the older field", legacy4, 16, apply.Topology{Sockets: 4, Cores: 4, Threads: 1}},
		{"F65 spreadOptions.ratio wins over the older field", ratioWins, 12, apply.Topology{Sockets: 4, Cores: 3, Threads: 1}},
		{"F66 ratio 2 of 4", sct, 4, apply.Topology{Sockets: 1, Cores: 2, Threads: 2}},
		{"F66 ratio 2 of 8", sct, 8, apply.Topology{Sockets: 2, Cores: 2, Threads: 2}},
		{"F66 ratio 2 of 12", sct, 12, apply.Topology{Sockets: 3, Cores: 2, Threads: 2}},
		{"F66 ratio 2 of 16", sct, 16, apply.Topology{Sockets: 4, Cores: 2, Threads: 2}},
		{"F66 ratio 3 of 6", sct3, 6, apply.Topology{Sockets: 1, Cores: 3, Threads: 2}},
		{"F66 ratio 3 of 12", sct3, 12, apply.Topology{Sockets: 2, Cores: 3, Threads: 2}},
		{"F66 ratio 3 of 18", sct3, 18, apply.Topology{Sockets: 3, Cores: 3, Threads: 2}},
		{"F66 ratio 3 of 24", sct3, 24, apply.Topology{Sockets: 4, Cores: 3, Threads: 2}},
		{"F66 ratio 4 of 8", sct4, 8, apply.Topology{Sockets: 1, Cores: 4, Threads: 2}},
		{"F66 ratio 4 of 16", sct4, 16, apply.Topology{Sockets: 2, Cores: 4, Threads: 2}},
		{"F66 ratio 4 of 24", sct4, 24, apply.Topology{Sockets: 3, Cores: 4, Threads: 2}},
		{"F66 ratio 4 of 32", sct4, 32, apply.Topology{Sockets: 4, Cores: 4, Threads: 2}},
		{"F67 2", ct, 2, apply.Topology{Sockets: 1, Cores: 1, Threads: 2}},
		{"F67 4", ct, 4, apply.Topology{Sockets: 1, Cores: 2, Threads: 2}},
		{"F67 6", ct, 6, apply.Topology{Sockets: 1, Cores: 3, Threads: 2}},
		{"F67 8", ct, 8, apply.Topology{Sockets: 1, Cores: 4, Threads: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pref := prefOf(t, "{}")
			if tc.pref != "" {
				pref = prefOf(t, tc.pref)
			}
			got, err := apply.Arrange(tc.vcpus, pref)
			if err != nil {
				t.Fatalf("Arrange: %v", err)
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if vcpusOf(got) != tc.vcpus {
				t.Errorf("%+v has %d vCPUs, want %d", got, vcpusOf(got), tc.vcpus)
			}
		})
	}
}

func TestArrange_RejectsIndivisibleVCPUs(t *testing.T) {
	for _, tc := range []struct {
		name, pref, want string
		vcpus            int32
	}{
		{"F120 odd across SocketsCores", `{cpu: {preferredCPUTopology: spread}}`, "a multiple of 2", 3},
		{"F120 ratio above vCPUs", `{cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: 8}}}`, "a multiple of 8", 4},
		{"F120 across CoresThreads", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: CoresThreads}}}`, "a multiple of 2", 5},
		{"F120 across SocketsCoresThreads", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads, ratio: 3}}}`, "a multiple of 6", 9},
		{"F120 half divisible across SocketsCoresThreads", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads}}}`, "a multiple of 4", 6},
		{"F116 unknown topology", `{cpu: {preferredCPUTopology: ring}}`, `"ring": allowed are`, 4},
		{"F117 unsupported across", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: Dies}}}`, `"Dies" is not supported`, 4},
		{"F118 CoresThreads with ratio 3", `{cpu: {preferredCPUTopology: spread, spreadOptions: {across: CoresThreads, ratio: 3}}}`, "must be 2", 6},
		{"F118 CoresThreads with ratio 4 in the older field", `{preferSpreadSocketToCoreRatio: 4, cpu: {preferredCPUTopology: spread, spreadOptions: {across: CoresThreads}}}`, "must be 2", 8},
		{"ratio 0", `{cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: 0}}}`, "at least 1", 4},
		{"negative ratio", `{cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: -2}}}`, "at least 1", 4},
		{"no vCPUs", `{}`, "at least 1", 0},
		{"negative vCPUs", `{}`, "at least 1", -1},
		{"a ratio that overflows when doubled", fmt.Sprintf(`{cpu: {preferredCPUTopology: spread, spreadOptions: {across: SocketsCoresThreads, ratio: %d}}}`, math.MaxInt32), "cannot be spread", 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := apply.Arrange(tc.vcpus, prefOf(t, tc.pref))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v, error %v; want an error with %q", got, err, tc.want)
			}
		})
	}
}

// With any preference, a topology has all vCPUs and no dimension is 0.
func TestArrange_IsExactOrFails(t *testing.T) {
	for _, across := range []string{"SocketsCores", "SocketsCoresThreads", "CoresThreads"} {
		for ratio := int32(1); ratio <= 8; ratio++ {
			pref := prefOf(t, fmt.Sprintf(`{cpu: {preferredCPUTopology: spread, spreadOptions: {across: %s, ratio: %d}}}`, across, ratio))
			for vcpus := int32(1); vcpus <= 128; vcpus++ {
				got, err := apply.Arrange(vcpus, pref)
				if err != nil {
					continue
				}
				if got.Sockets < 1 || got.Cores < 1 || got.Threads < 1 || vcpusOf(got) != vcpus {
					t.Errorf("%d vCPUs across %s with ratio %d are arranged as %+v", vcpus, across, ratio, got)
				}
			}
		}
	}
}

func vcpusOf(t apply.Topology) int32 { return t.Sockets * t.Cores * t.Threads }
