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
		if strings.Contains(out, "--vcenter-govc-env") == want {
			t.Errorf("help of %s has --vcenter-govc-env: %v", verb, want)
		}
		for _, text := range []string{"(default: $GOVC_", "--vcenter-insecure"} {
			if strings.Contains(out, text) != want {
				t.Errorf("help of %s has %q: %v, want %v", verb, text, !want, want)
			}
		}
	}
}

func TestInstall_UsesTheEnvironmentOfGOVCOnlyWithAFlag(t *testing.T) {
	for name, value := range map[string]string{"GOVC_URL": "me.example.com", "GOVC_USERNAME": "me@vsphere.local", "GOVC_PASSWORD": "mine", "GOVC_TLS_CA_CERTS": ""} {
		t.Setenv(name, value)
	}
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"no flag":               {args: nil},
		"an address":            {args: []string{"--vcenter-url=vc.example.com"}, code: 1, want: "GOVC_USERNAME and GOVC_PASSWORD are used only with --vcenter-govc-env"},
		"an address and a name": {args: []string{"--vcenter-url=vc.example.com", "--vcenter-username=slipway"}, code: 1, want: "user name and password are required"},
		"the flag":              {args: []string{"--vcenter-govc-env"}, want: "url: https://me.example.com/sdk\n"},
		"the flag and an address": {
			args: []string{"--vcenter-govc-env", "--vcenter-url=vc.example.com"}, want: "url: https://vc.example.com/sdk\n",
		},
	} {
		code, out, errOut := newInstallHost().install(t, append(c.args, imageFlag)...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%s: exit %d, want %d with %q: %s", name, code, c.code, c.want, errOut)
		}
		if used, want := strings.Contains(out, "bWVAdnNwaGVyZS5sb2NhbA==") && strings.Contains(out, "bWluZQ=="), c.code == 0 && c.args != nil; used != want {
			t.Errorf("%s: the manifests contain the account of the environment: %v, want %v", name, used, want)
		}
	}
}
