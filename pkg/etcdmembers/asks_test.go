// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// r-1 has asked and its node died, which its ask outlives.
func TestAReplicaThatNeverComesDoesNotKeepAnotherOneOut(t *testing.T) {
	const dead, alive = "r-1", "r-2"
	lead := embedded.Member{ID: 1, Name: "r-0", Address: "r-0:1"}
	v := &view{self: 1, cluster: 7, members: []embedded.Member{lead}, wanted: func(string) bool { return true }}
	v.record = &record{cluster: 7, asks: map[string]ask{dead: {"d1", "r-1:1"}, alive: {"d2", "r-2:1"}}}
	var did []string
	for id := uint64(2); id < 20 && len(did) < 5; {
		a := next(v)
		switch a.verb {
		case write:
			v.record = v.recorded()
		case add:
			did = append(did, "add "+a.name)
			v.members = []embedded.Member{lead, {ID: id, Address: a.member.Address, Learner: true}}
			v.record.added[a.name] = answer{a.directory, id}
			v.record = v.recorded()
			id++
			if v.waits = 3 * time.Minute; a.name == alive {
				v.members[1].Name, v.waits = alive, 0 // it begins
			}
		case promote:
			did = append(did, "promote "+a.member.Name)
			v.members[1].Learner = false
			id = 20
		case remove:
			did = append(did, "remove "+a.member.Name+a.member.Address)
			v.members = []embedded.Member{lead}
		default:
			t.Fatalf("after %q it does %d", did, a.verb)
		}
	}
	if diff := cmp.Diff([]string{"add r-1", "remove r-1:1", "add r-2", "promote r-2"}, did); diff != "" {
		t.Errorf("the leader did (-want +got):\n%s", diff)
	}
	if v.record = v.recorded(); len(v.record.asks) > 0 {
		t.Errorf("asks are left: %v", v.record.asks)
	}
}

func TestOneMalformedAskLeavesTheRecordReadable(t *testing.T) {
	r := &record{founder: directory{"r-0", "d0"}, cluster: 7, asks: map[string]ask{"r-2": {"d2", "r-2:1"}}, added: map[string]answer{}}
	for _, malformed := range []string{"r-1:2380", "", "a b c", string(make([]byte, 600))} {
		data := r.encode()
		data[askPrefix+"r-1"] = malformed
		got, err := decode(data)
		if err != nil || got.cluster != 7 || !maps.Equal(got.asks, r.asks) {
			t.Errorf("with the ask %.20q: %+v, %v", malformed, got, err)
		}
	}
}
