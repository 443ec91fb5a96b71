// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/instancetype"
)

func TestErrors_IncludeAMissingNameOnce(t *testing.T) {
	for name, spec := range map[string]string{
		"instance type":            "{instancetype: {name: absent}}",
		"preference":               "{preference: {name: absent, kind: VirtualMachinePreference}}",
		"class":                    "{className: absent}",
		"revision that is pinned":  "{instancetype: {name: small, controllerRevisionRef: {name: absent}}}",
		"revision by its old name": "{instancetype: {name: small, revisionName: absent}}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resolve(vmOf(t, spec), newFakeReader())
			if err == nil || !instancetype.IsMissing(err) {
				t.Fatalf("error %v, want IsMissing", err)
			}
			if got := err.Error(); strings.Count(got, "absent") != 1 || !strings.Contains(got, `absent" not found`) {
				t.Errorf("error %q, want the missing name exactly once", got)
			}
		})
	}
}
