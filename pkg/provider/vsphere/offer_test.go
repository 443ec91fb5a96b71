// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import "testing"

func TestFormatSizes_UsesOneUnit(t *testing.T) {
	for _, tc := range []struct {
		needed, has int64 // MiB
		want        [2]string
	}{
		{2048 << 10, 4095, [2]string{"2048 GiB", "4 GiB"}},
		{16 << 10, 15900, [2]string{"16 GiB", "15.5 GiB"}},
		{16 << 10, 16<<10 - 1, [2]string{"16384 MiB", "16383 MiB"}},
		{8824, 8192, [2]string{"8824 MiB", "8192 MiB"}},
	} {
		if got := formatSizes(tc.needed<<20, tc.has<<20); got[0] != tc.want[0] || got[1] != tc.want[1] {
			t.Errorf("%d MiB and %d MiB are formatted as %v, want %q", tc.needed, tc.has, got, tc.want)
		}
	}
}
