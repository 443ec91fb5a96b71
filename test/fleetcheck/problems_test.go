// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"strings"
	"testing"
)

// healthy has one VM in its desired state, and one foreign VM.
func healthy() (e expected, s Sight) {
	e = expected{
		want:       map[string]Wish{"ns/a": {Namespace: "ns", Name: "a", On: true, VCPUs: 2, MemoryMB: 2048}},
		namespaces: []string{"ns"}, moIDs: map[string]string{"u": "vm-1"}, foreign: map[string]string{"f": "before"},
	}
	s = Sight{
		objects:     map[string]object{"ns/a": {uid: "u", moID: "vm-1", power: "PoweredOn", ready: true, revisions: []string{"ns/r"}}},
		instances:   map[string]bool{"ns/a": true},
		machines:    []vm{{moID: "vm-1", name: "a", folder: "ns", directory: "[d] a", owner: "ns/a/u", vcpus: 2, memMB: 2048, on: true, readable: true}},
		foreign:     map[string]string{"f": "before"},
		folders:     []string{"ns"},
		directories: []string{"[d] a"},
		revisions:   map[string]bool{"ns/r": true},
		stored:      map[string]bool{"virtualmachines/ns/a": true, "virtualmachineinstances/ns/a": true, "controllerrevisions/ns/r": true},
		active:      map[string]bool{"ns": true},
		leader:      "process",
	}
	return e, s
}

// change changes the object.
func change(s *Sight, f func(*object)) {
	o := s.objects["ns/a"]
	f(&o)
	s.objects["ns/a"] = o
}

func TestProblems_NoneForAHealthyFleet(t *testing.T) {
	if found := problems(healthy()); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestProblems_OfEveryKindAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*Sight)
		want  string
	}{
		"object deleted":      {func(s *Sight) { delete(s.objects, "ns/a") }, "lost: ns/a is not in the API"},
		"object being erased": {func(s *Sight) { change(s, func(o *object) { o.deleting = true }) }, "is being deleted"},
		"not ready":           {func(s *Sight) { change(s, func(o *object) { o.ready = false }) }, "is not ready"},
		"reports off":         {func(s *Sight) { change(s, func(o *object) { o.power = "PoweredOff" }) }, "is PoweredOff, want PoweredOn"},
		"machine deleted":     {func(s *Sight) { s.machines = nil }, "has no machine in vSphere"},
		"twin":                {func(s *Sight) { s.machines = append(s.machines, s.machines[0]) }, "twice: ns/a has 2"},
		"recreated": {func(s *Sight) {
			change(s, func(o *object) { o.moID = "vm-2" })
			s.machines[0].moID = "vm-2"
		}, "lost: ns/a was the machine vm-1, and is vm-2 now"},
		"status names another":  {func(s *Sight) { change(s, func(o *object) { o.moID = "vm-9" }) }, `names "vm-9" in status`},
		"unreadable":            {func(s *Sight) { s.machines[0].readable = false }, "cannot be read"},
		"off":                   {func(s *Sight) { s.machines[0].on = false }, "powered on: false, want true"},
		"wrong size":            {func(s *Sight) { s.machines[0].vcpus = 4 }, "4 vCPUs and 2048 MiB, want 2 and 2048"},
		"moved":                 {func(s *Sight) { s.machines[0].folder = "other" }, "is other/a"},
		"renamed":               {func(s *Sight) { s.machines[0].name = "b" }, "is ns/b"},
		"instance missing":      {func(s *Sight) { delete(s.instances, "ns/a") }, "VirtualMachineInstance: false"},
		"object left":           {func(s *Sight) { s.objects["ns/b"] = object{} }, "left: ns/b is in the API"},
		"instance left":         {func(s *Sight) { s.instances["ns/b"] = true }, "left: VirtualMachineInstance ns/b"},
		"machine left":          {func(s *Sight) { s.machines = append(s.machines, vm{moID: "vm-3", owner: "ns/b/v"}) }, "left: the machine vm-3"},
		"machine without owner": {func(s *Sight) { s.machines = append(s.machines, vm{moID: "vm-4"}) }, `left: the machine vm-4 (/) of ""`},
		"machine of an earlier object of the name": {func(s *Sight) { s.machines = append(s.machines, vm{moID: "vm-5", owner: "ns/a/earlier"}) },
			"left: the machine vm-5"},
		"revision left": {func(s *Sight) { s.revisions["ns/q"] = true }, "names the revision ns/q"},
		"revision that runs": {func(s *Sight) {
			s.revisions["ns/q"], s.stored["controllerrevisions/ns/q"], s.running = true, true, []string{"ns/q"}
		}, ""},
		"revision deleted":   {func(s *Sight) { delete(s.revisions, "ns/r") }, "revision ns/r, which does not exist"},
		"directory left":     {func(s *Sight) { s.directories = append(s.directories, "[d] b") }, "directory [d] b belongs to no machine"},
		"folder left":        {func(s *Sight) { s.folders = append(s.folders, "old") }, "folder old belongs to no namespace"},
		"foreign deleted":    {func(s *Sight) { delete(s.foreign, "f") }, "foreign: f is deleted"},
		"foreign touched":    {func(s *Sight) { s.foreign["f"] = "after" }, "f was touched: …before… became …after…"},
		"size that waits":    {func(s *Sight) { s.machines[0].vcpus = 4; change(s, func(o *object) { o.waits = true }) }, ""},
		"object not stored":  {func(s *Sight) { delete(s.stored, "virtualmachines/ns/a") }, "virtualmachines/ns/a is served and not stored"},
		"object not served":  {func(s *Sight) { s.stored["virtualmachines/ns/b"] = true }, "virtualmachines/ns/b is stored and not served"},
		"namespace deleted":  {func(s *Sight) { s.active["ns"] = false }, "the namespace of ns/a is not in the management cluster"},
		"captured elsewhere": {func(s *Sight) { s.captured = []string{"ns/old"} }, "left: the ControllerRevision ns/old in the management cluster"},
		"no leader":          {func(s *Sight) { s.leader = "" }, "no replica holds the Lease"},
		"no machine known":   {func(s *Sight) { change(s, func(o *object) { o.uid = "new" }) }, "ns/a (new) has no machine in vSphere"},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := healthy()
			tc.spoil(&s)
			found := strings.Join(problems(e, s), "\n")
			if !strings.Contains(found, tc.want) || (found == "") != (tc.want == "") {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}
