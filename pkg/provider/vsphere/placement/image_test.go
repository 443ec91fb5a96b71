// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import "testing"

func TestVersionsAreComparedByNumber(t *testing.T) {
	for have, want := range map[string]bool{
		"8.0.2.0": true, "8.0.3.0": true, "9.0": true, "9.1.0.0": true, "8.0.10.0": true,
		"8.0.1.0": false, "8.0": false, "7.0.3.2": false, "6.5": false, "": false, "dev": false,
	} {
		if got := atLeast(have, minDeployAPI); got != want {
			t.Errorf("%q is at least %s: %t, want %t", have, minDeployAPI, got, want)
		}
	}
}
