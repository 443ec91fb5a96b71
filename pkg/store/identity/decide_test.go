// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"
)

func TestDecide_ServesHoldsOrRefusesAStore(t *testing.T) {
	t.Parallel()
	now := state{id: "mine", cluster: "c", revision: 2_000_000_000}
	of := func(id, cluster string, revision int64) *state {
		return &state{id: id, cluster: cluster, revision: revision}
	}
	for name, tc := range map[string]struct {
		known    *state
		accepted string
		want     verdict
		reason   string
	}{
		"none is known":                  {nil, "", serve, ""},
		"none is known, accepted":        {nil, "mine", serve, ""},
		"same":                           {of("mine", "c", 2_000_000_000), "", serve, ""},
		"same, another is accepted":      {of("mine", "c", 2_000_000_000), "other", serve, ""},
		"same, accepted":                 {of("mine", "c", 1_999_999_999), "mine", serve, ""},
		"written since":                  {of("mine", "c", 1_999_999_999), "", serve, ""},
		"written since, very often":      {of("mine", "c", 1_500_000_000), "", serve, ""},
		"cluster is not known":           {of("mine", "", 1_999_999_999), "", serve, ""},
		"more than writes explain":       {of("mine", "c", 1_499_999_999), "", hold, "it is at revision 2000000000, and was at 1499999999 before"},
		"more, cluster is not known":     {of("mine", "", 1), "", hold, "the store mine was restored"},
		"another cluster":                {of("mine", "d", 1_999_999_999), "", hold, "it is in the etcd cluster c, and was in d before"},
		"another cluster, same revision": {of("mine", "d", 2_000_000_000), "", hold, "was moved or restored"},
		"older":                          {of("mine", "c", 2_000_000_001), "", refuse, "it is an older copy"},
		"older, another cluster":         {of("mine", "d", 2_000_000_001), "", refuse, "it is an older copy"},
		"older, accepted":                {of("mine", "c", 2_000_000_001), "mine", hold, "it is an older copy"},
		"older, another is accepted":     {of("mine", "c", 2_000_000_001), "other", refuse, "it is an older copy"},
		"other ID":                       {of("theirs", "c", 1_999_999_999), "", refuse, "the store has the ID mine, and the management cluster expects theirs"},
		"other ID, known is accepted":    {of("theirs", "c", 1_999_999_999), "theirs", refuse, "the store has the ID mine"},
		"other ID, accepted":             {of("theirs", "d", 2_000_000_001), "mine", hold, "the store has the ID mine"},
	} {
		got, reason := decide(tc.known, tc.accepted, now)
		if got != tc.want || !strings.Contains(reason, tc.reason) || (reason == "") != (got == serve) {
			t.Errorf("%s: %d %q, want %d %q", name, got, reason, tc.want, tc.reason)
		}
	}
}
