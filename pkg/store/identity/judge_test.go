// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"
)

func TestF3AnotherOrOlderStoreIsServedOnlyWhenAcceptedByName(t *testing.T) {
	now := store{id: "mine", revision: 50}
	for name, tc := range map[string]struct {
		known    *store
		accepted string
		want     string // a part of the refusal; empty when it is served
	}{
		"nothing is known":           {nil, "", ""},
		"the same":                   {&store{"mine", 50}, "", ""},
		"the same, written since":    {&store{"mine", 49}, "", ""},
		"another":                    {&store{"theirs", 40}, "", "it has the ID mine, and the host cluster expects theirs"},
		"another, further":           {&store{"theirs", 60}, "", "it has the ID mine, and the host cluster expects theirs"},
		"older":                      {&store{"mine", 51}, "", "the store mine is at revision 50, and was at 51 before"},
		"another, accepted":          {&store{"theirs", 40}, "mine", ""},
		"older, accepted":            {&store{"mine", 51}, "mine", ""},
		"another, a third accepted":  {&store{"theirs", 40}, "other", "it has the ID mine"},
		"another, the known one was": {&store{"theirs", 40}, "theirs", "it has the ID mine"},
		"the same, a third accepted": {&store{"mine", 50}, "other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(tc.known, tc.accepted, now)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("refusal %q, want %q", got, tc.want)
			}
		})
	}
}
