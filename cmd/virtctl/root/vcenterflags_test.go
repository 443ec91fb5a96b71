// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/clitest"
)

func TestHelp_OfInstallAndCheckOmitsUnsupportedVCenterFlags(t *testing.T) {
	for verb, want := range map[string]bool{"install": false, "check": false, "adopt": true} {
		code, out, errOut := run(t, &clitest.APIServer{}, verb, "--help")
		if code != 0 {
			t.Fatal(errOut)
		}
		if !strings.Contains(out, "--vcenter-url ") {
			t.Errorf("help of %s has no --vcenter-url", verb)
		}
		for _, text := range []string{"(default: $GOVC_URL)", "--vcenter-insecure"} {
			if strings.Contains(out, text) != want {
				t.Errorf("help of %s has %q: %v, want %v", verb, text, !want, want)
			}
		}
	}
}
