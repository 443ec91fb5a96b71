// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

func TestTheClusterIsFoundedOnceAndDataIsGoneOnWithOnlyByAMember(t *testing.T) {
	const address = "r-1:2380"
	fresh, member := embedded.Local{Directory: "d"}, embedded.Local{Directory: "d", Cluster: 7, Member: 1}
	of := func(members ...embedded.Member) *record {
		return &record{founder: directory{"r-0", "other"}, cluster: 7, members: members, asks: map[string]ask{}, added: map[string]answer{}}
	}
	with := func(r *record, change func(*record)) *record { change(r); return r }
	lost := func(id string) func(*record) { return func(r *record) { r.lost = id } }
	mine := embedded.Member{ID: 1, Name: "r-1", Address: address}
	for name, tc := range map[string]struct {
		local  embedded.Local
		record *record
		known  bool
		want   move
		others []embedded.Member // that answer
		said   time.Duration     // since when the cluster is said to be lost
	}{
		"nothing is known":                       {fresh, nil, false, found, nil, 0},
		"a store is known, and no data of it":    {fresh, nil, true, wait, nil, 0},
		"another founds":                         {fresh, &record{founder: directory{"r-0", "other"}}, false, wait, nil, 0},
		"it founds":                              {fresh, &record{founder: directory{"r-1", "d"}}, false, found, nil, 0},
		"it had begun to found elsewhere":        {fresh, &record{founder: directory{"r-1", "other"}}, false, found, nil, 0},
		"the founder lost its volume":            {fresh, with(of(), func(r *record) { r.founder.name = "r-1" }), false, askToJoin, nil, 0},
		"founded, and it is new":                 {fresh, of(), false, askToJoin, nil, 0},
		"it has asked":                           {fresh, with(of(), func(r *record) { r.asks["r-1"] = ask{"d", address} }), false, wait, nil, 0},
		"it has asked from elsewhere":            {fresh, with(of(), func(r *record) { r.asks["r-1"] = ask{"d", "r-1:9"} }), false, askToJoin, nil, 0},
		"it was added":                           {fresh, with(of(mine), func(r *record) { r.added["r-1"] = answer{"d", 1} }), false, join, nil, 0},
		"its directory of before was added":      {fresh, with(of(mine), func(r *record) { r.added["r-1"] = answer{"other", 1} }), false, askToJoin, nil, 0},
		"it was added and removed again":         {fresh, with(of(), func(r *record) { r.added["r-1"] = answer{"d", 1} }), false, askToJoin, nil, 0},
		"data, and nothing is known":             {member, nil, true, goOn, nil, 0},
		"data, and it has founded":               {member, &record{founder: directory{"r-1", "d"}}, false, goOn, nil, 0},
		"data, and another founds":               {member, &record{founder: directory{"r-0", "other"}}, false, refuse, nil, 0},
		"data of a member":                       {member, of(mine), true, goOn, nil, 0},
		"data of another cluster":                {embedded.Local{Directory: "d", Cluster: 8, Member: 1}, of(mine), true, refuse, nil, 0},
		"data of a member that was removed":      {member, of(embedded.Member{ID: 2}), true, askToJoin, nil, 0},
		"data of before, and it is added anew":   {member, with(of(embedded.Member{ID: 2, Address: address}), func(r *record) { r.added["r-1"] = answer{"d", 2} }), true, join, nil, 0},
		"data of a removed one, added of before": {member, with(of(embedded.Member{ID: 2}), func(r *record) { r.added["r-1"] = answer{"d", 1} }), true, askToJoin, nil, 0},
		"lost, as was said long ago":             {fresh, with(of(mine), lost("7")), true, found, nil, time.Minute},
		"lost, as was said just now":             {fresh, with(of(mine), lost("7")), true, wait, nil, time.Second},
		"lost, and one answers":                  {fresh, with(of(mine), lost("7")), true, askToJoin, []embedded.Member{{Name: "r-0"}}, time.Minute},
		"another one is lost":                    {fresh, with(of(mine), lost("8")), true, askToJoin, nil, time.Minute},
		"nobody answers":                         {fresh, of(mine), true, askToJoin, nil, 0},
		"lost, but for its data":                 {member, with(of(mine), lost("7")), true, goOn, nil, time.Minute},
		"lost, but for its data of before":       {member, with(of(embedded.Member{ID: 2}), lost("7")), true, askToJoin, nil, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{name: "r-1", address: address, local: tc.local, record: tc.record, storeKnown: tc.known, answering: tc.others, lostFor: tc.said}
			got, reason := begin(s)
			if got != tc.want {
				t.Errorf("move %d (%s), want %d", got, reason, tc.want)
			}
		})
	}
}

func TestTheLeaderDoesOneThingAtATime(t *testing.T) {
	a, b := embedded.Member{ID: 1, Name: "r-0", Address: "r-0:1"}, embedded.Member{ID: 2, Name: "r-1", Address: "r-1:1"}
	learner := embedded.Member{ID: 3, Name: "r-2", Address: "r-2:1", Learner: true}
	unbegun := embedded.Member{ID: 3, Address: "r-2:1", Learner: true}
	asking := map[string]ask{"r-2": {"d", "r-2:1"}}
	told := map[string]answer{"r-2": {"d", 3}}
	three, two := func(string) bool { return true }, func(name string) bool { return name < "r-1" }
	for name, tc := range map[string]struct {
		members []embedded.Member
		asks    map[string]ask
		added   map[string]answer
		self    uint64
		wanted  func(string) bool
		waits   time.Duration
		want    action
	}{
		"nothing":                                {[]embedded.Member{a, b}, nil, nil, 1, three, 0, action{}},
		"one asks":                               {[]embedded.Member{a, b}, asking, nil, 1, three, 0, action{verb: add, member: embedded.Member{Name: "r-2", Address: "r-2:1"}, name: "r-2", directory: "d"}},
		"one asks that is not wanted":            {[]embedded.Member{a}, asking, nil, 1, two, 0, action{}},
		"one asks while another learns":          {[]embedded.Member{a, learner}, map[string]ask{"r-1": {"d", "r-1:1"}}, nil, 1, three, time.Minute, action{verb: promote, member: learner}},
		"a learner that has not begun":           {[]embedded.Member{a, unbegun}, asking, told, 1, three, time.Hour, action{}},
		"it is in the way of another":            {[]embedded.Member{a, unbegun}, map[string]ask{"r-1": {"d", "r-1:1"}}, told, 1, three, 3 * time.Minute, action{verb: remove, member: unbegun}},
		"one that was not told asks again":       {[]embedded.Member{a, unbegun}, asking, nil, 1, three, 0, action{verb: remove, member: unbegun}},
		"one with lost data asks":                {[]embedded.Member{a, b}, map[string]ask{"r-1": {"d", "r-1:1"}}, nil, 1, three, 0, action{verb: remove, member: b}},
		"one with lost data asks from elsewhere": {[]embedded.Member{a, b}, map[string]ask{"r-1": {"d", "else:1"}}, nil, 1, three, 0, action{verb: remove, member: b}},
		"one is not wanted any more":             {[]embedded.Member{a, b}, nil, nil, 1, two, 0, action{verb: remove, member: b}},
		"the leader is not wanted any more":      {[]embedded.Member{a, b}, nil, nil, 2, two, 0, action{verb: yield, member: a}},
		"the last one is not wanted":             {[]embedded.Member{b}, nil, nil, 2, two, 0, action{}},
	} {
		t.Run(name, func(t *testing.T) {
			v := &view{self: tc.self, cluster: 7, members: tc.members, wanted: tc.wanted, waits: tc.waits}
			v.record = &record{cluster: 7, asks: tc.asks, added: tc.added}
			v.record = v.recorded()
			got := next(v)
			got.reason = ""
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(action{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			v.record.lost = "7"
			if got := next(v); got.verb != write || v.recorded().lost != "" {
				t.Errorf("although it is said to be lost it does %d", got.verb)
			}
			v.record.lost, v.record.cluster = "", 0
			if got := next(v); got.verb != write {
				t.Errorf("with another record it does %d, want that it is written first", got.verb)
			}
		})
	}
}

func TestTheRecordIsReadAsItWasWritten(t *testing.T) {
	r := &record{
		founder: directory{"r-0", "d0"}, token: "t", cluster: 0xabc,
		members: []embedded.Member{{ID: 1, Name: "r-0", Address: "[::1]:2380"}, {ID: 0xff, Name: "r-1", Address: "r-1.peers:2380", Learner: true}},
		asks:    map[string]ask{"r-2": {"d2", "r-2:2380"}}, added: map[string]answer{"r-1": {"d1", 0xff}},
	}
	got, err := decode(r.encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got, cmp.AllowUnexported(record{}, directory{}, ask{}, answer{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, value := range map[string]string{"cluster": "x y", "founder": "r-0", "members": "zz r-0 a:1", "added.r-0": "d xyz", "other": "v"} {
		data := maps.Clone(r.encode())
		data[key] = value
		if _, err := decode(data); err == nil {
			t.Errorf("%s %q was read", key, value)
		}
	}
}

func TestMembersThatDoNotAnswerGoFirstAndNoneGoesWhoseLossCostsTheQuorum(t *testing.T) {
	named := func(i int) embedded.Member {
		return embedded.Member{ID: uint64(i + 1), Name: "r-" + strconv.Itoa(i)}
	}
	three := []embedded.Member{named(0), named(1), named(2)}
	for name, tc := range map[string]struct {
		wanted  string // the first replica that is not
		self    int
		silent  map[uint64]bool
		members []embedded.Member
		want    action
	}{
		"all answer":                       {"r-1", 0, nil, three, action{verb: remove, member: named(1)}},
		"the last one is dead":             {"r-1", 0, map[uint64]bool{3: true}, three, action{verb: remove, member: named(2)}},
		"it was removed":                   {"r-1", 0, nil, three[:2], action{verb: remove, member: named(1)}},
		"one is dead, and this one leaves": {"r-1", 1, map[uint64]bool{3: true}, three, action{verb: remove, member: named(2)}},
		"one that is to stay is dead":      {"r-2", 0, map[uint64]bool{2: true}, three, action{}},
		"who is to lead is dead":           {"r-1", 1, map[uint64]bool{1: true}, three, action{}},
		"who is to lead first is dead":     {"r-2", 2, map[uint64]bool{1: true}, three, action{verb: yield, member: named(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			v := &view{self: named(tc.self).ID, cluster: 7, members: tc.members, silent: tc.silent, record: &record{cluster: 7}}
			v.wanted = func(name string) bool { return name < tc.wanted }
			v.record = v.recorded()
			got := next(v)
			got.reason = ""
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(action{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
