// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	"github.com/slipway-dev/slipway/pkg/apis/similar"
)

func TestName_ReturnsMostSimilarName(t *testing.T) {
	for name, tc := range map[string]struct {
		all  []string
		want string
	}{
		"u1.smal":       {[]string{"u1.large", "u1.small", "u1.medium"}, "u1.small"},
		"u1.samll":      {[]string{"u1.small"}, "u1.small"},
		"u1.smalll":     {[]string{"u1.small"}, "u1.small"},
		"U1.Small":      {[]string{"u1.small"}, "u1.small"},
		"photon5":       {[]string{"photon-4", "photon-5"}, "photon-5"},
		"cpus":          {[]string{"cpu", "class"}, "cpu"},
		"cpu":           {[]string{"cpu"}, ""},
		"windows":       {[]string{"u1.small", "photon-5"}, ""},
		"":              {[]string{"a"}, ""},
		"ab":            {[]string{"xy"}, ""},
		"nothing-at-al": {nil, ""},
	} {
		if got := similar.Name(name, tc.all); got != tc.want {
			t.Errorf("Name(%q, %q) = %q, want %q", name, tc.all, got, tc.want)
		}
	}
	if got := similar.Suggestion("u1.smal", []string{"u1.small"}); got != `, did you mean "u1.small"?` {
		t.Errorf("Hint = %q", got)
	}
	if got := similar.Suggestion("windows", []string{"u1.small"}); got != "" {
		t.Errorf("Hint = %q, want none", got)
	}
}
