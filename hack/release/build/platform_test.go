// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse_AcceptsReleasedPlatforms(t *testing.T) {
	for list, want := range map[string][]Platform{
		"":                          All,
		"linux/arm64":               {{"linux", "arm64"}},
		"windows/amd64,linux/amd64": {{"windows", "amd64"}, {"linux", "amd64"}},
	} {
		got, err := Parse(list)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Parse(%q): %v (-want +got):\n%s", list, err, diff)
		}
	}
	for list, want := range map[string]string{
		"linux":                   `unsupported platform "linux": supported are [linux/amd64`,
		"linux/amd64,":            `unsupported platform "": supported are`,
		"plan9/amd64":             `unsupported platform "plan9/amd64": supported are`,
		"linux/amd64,linux/amd64": `duplicate platform "linux/amd64"`,
	} {
		if _, err := Parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", list, err, want)
		}
	}
}

func TestCheckVersion_DetectsAnotherVersion(t *testing.T) {
	if err := CheckVersion(t.Context(), "v1.2.3", "echo", "Client:", "v1.2.3"); err != nil {
		t.Error(err)
	}
	if err := CheckVersion(t.Context(), "v1.2.3", "echo", "v1.2.3-dirty"); err == nil || !strings.Contains(err.Error(), "want v1.2.3") {
		t.Errorf("error %v", err)
	}
	if err := CheckVersion(t.Context(), "v1.2.3", "false"); err == nil {
		t.Error("no error for a program that fails")
	}
}
