// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestPowerVerbsSetThePowerStateOfGroups(t *testing.T) {
	const path = apiPrefix + "dev/virtualmachinegroups/shop"
	for name, tc := range map[string]struct {
		args      []string
		requests  []string
		out, fail string
		code      int
	}{
		"start":   {[]string{"start", "group/shop"}, []string{path + ` {"spec":{"powerState":"PoweredOn"}}`}, "virtualmachinegroup dev/shop will be powered on\n", "", 0},
		"stop":    {[]string{"stop", "vmgroup/shop"}, []string{path + ` {"spec":{"powerState":"PoweredOff"}}`}, "virtualmachinegroup dev/shop will be powered off\n", "", 0},
		"suspend": {[]string{"suspend", "virtualmachinegroup/shop"}, []string{path + ` {"spec":{"powerState":"Suspended"}}`}, "virtualmachinegroup dev/shop will be suspended\n", "", 0},
		"dry run": {[]string{"stop", "group/shop", "--dry-run"}, []string{path + `?dryRun=All {"spec":{"powerState":"PoweredOff"}}`},
			"virtualmachinegroup dev/shop will be powered off (dry run)\n", "", 0},
		"beside a virtual machine": {[]string{"start", "a", "group/shop"}, []string{path + ` {"spec":{"powerState":"PoweredOn"}}`, apiPrefix + "dev/virtualmachines/a/start"},
			"virtualmachinegroup dev/shop will be powered on\nvirtualmachine dev/a will be powered on\n", "", 0},
		"one that is not there": {[]string{"stop", "group/none", "group/shop"},
			[]string{apiPrefix + `dev/virtualmachinegroups/none {"spec":{"powerState":"PoweredOff"}}`, path + ` {"spec":{"powerState":"PoweredOff"}}`},
			"virtualmachinegroup dev/shop will be powered off\n", "error: virtualmachinegroup dev/none: not found\n", 1},
		"restart": {[]string{"restart", "group/shop"}, nil, "", "error: a group cannot be asked to restart: name its virtual machines\n", 1},
		"a mode":  {[]string{"stop", "group/shop", "--mode", "Hard"}, nil, "", "error: --mode is for virtual machines: each member of a group has its own\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apiServer{vms: []vmv1alpha1.VirtualMachine{machine("dev", "a")}, groups: []string{"shop"}}
			code, out, errOut := run(t, s, tc.args...)
			if diff := cmp.Diff([]any{tc.code, tc.out, tc.fail}, []any{code, out, errOut}); diff != "" {
				t.Errorf("code, output and errors (-want +got):\n%s", diff)
			}
			requests := s.requests
			for i, r := range requests {
				if len(r) > len(tc.requests[i]) && tc.requests[i][len(tc.requests[i])-1] != '}' {
					requests[i] = r[:len(tc.requests[i])] // the body is that of a virtual machine
				}
			}
			if diff := cmp.Diff(tc.requests, requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
