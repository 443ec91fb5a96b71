// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strings"
	"testing"
	"time"
)

// healthy is one machine as wanted, and one that is not ours.
func healthy() (want map[string]wish, moIDs, before map[string]string, s sight) {
	want = map[string]wish{"ns/a": {namespace: "ns", name: "a", exists: true, on: true}}
	s = sight{
		objects:     map[string]object{"ns/a": {uid: "u", moID: "vm-1", power: "PoweredOn", ready: true, revisions: []string{"ns/r"}}},
		instances:   map[string]bool{"ns/a": true},
		machines:    []vm{{moID: "vm-1", name: "a", folder: "ns", directory: "[d] a", owner: "ns/a/u", vcpus: 2, memMB: 2048, on: true, readable: true}},
		foreign:     map[string]string{"f": "as it was"},
		folders:     []string{namespaceName(0)},
		directories: []string{"[d] a"},
		revisions:   map[string]bool{"ns/r": true},
	}
	return want, map[string]string{"u": "vm-1"}, map[string]string{"f": "as it was"}, s
}

// change alters the one object.
func change(s *sight, f func(*object)) {
	o := s.objects["ns/a"]
	f(&o)
	s.objects["ns/a"] = o
}

func TestHealthyIsNoProblem(t *testing.T) {
	if found := problems(healthy()); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestEveryKindOfProblemIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*sight)
		want  string
	}{
		"object gone":         {func(s *sight) { delete(s.objects, "ns/a") }, "lost: ns/a is not in the API"},
		"object being erased": {func(s *sight) { change(s, func(o *object) { o.deleting = true }) }, "is being deleted"},
		"not ready":           {func(s *sight) { change(s, func(o *object) { o.ready = false }) }, "is not ready"},
		"says off":            {func(s *sight) { change(s, func(o *object) { o.power = "PoweredOff" }) }, "is PoweredOff, want PoweredOn"},
		"machine gone":        {func(s *sight) { s.machines = nil }, "has no machine in vSphere"},
		"twin":                {func(s *sight) { s.machines = append(s.machines, s.machines[0]) }, "twice: ns/a has 2"},
		"made anew": {func(s *sight) {
			change(s, func(o *object) { o.moID = "vm-2" })
			s.machines[0].moID = "vm-2"
		}, "lost: ns/a was the machine vm-1, and is vm-2 now"},
		"status names another":  {func(s *sight) { change(s, func(o *object) { o.moID = "vm-9" }) }, `names "vm-9" in status`},
		"unreadable":            {func(s *sight) { s.machines[0].readable = false }, "cannot be read"},
		"off":                   {func(s *sight) { s.machines[0].on = false }, "powered on: false, want true"},
		"wrong size":            {func(s *sight) { s.machines[0].vcpus = 4 }, "4 vCPUs and 2048 MiB, want 2 and 2048"},
		"moved":                 {func(s *sight) { s.machines[0].folder = "other" }, "is other/a"},
		"renamed":               {func(s *sight) { s.machines[0].name = "b" }, "is ns/b"},
		"instance missing":      {func(s *sight) { delete(s.instances, "ns/a") }, "VirtualMachineInstance: false"},
		"object left":           {func(s *sight) { s.objects["ns/b"] = object{} }, "left: ns/b is in the API"},
		"instance left":         {func(s *sight) { s.instances["ns/b"] = true }, "left: VirtualMachineInstance ns/b"},
		"machine left":          {func(s *sight) { s.machines = append(s.machines, vm{moID: "vm-3", owner: "ns/b/v"}) }, "left: the machine vm-3"},
		"machine without owner": {func(s *sight) { s.machines = append(s.machines, vm{moID: "vm-4"}) }, `left: the machine vm-4 (/) of ""`},
		"machine of an earlier object of the name": {func(s *sight) { s.machines = append(s.machines, vm{moID: "vm-5", owner: "ns/a/earlier"}) },
			"left: the machine vm-5"},
		"revision left":      {func(s *sight) { s.revisions["ns/q"] = true }, "names the revision ns/q"},
		"revision that runs": {func(s *sight) { s.revisions["ns/q"], s.running = true, []string{"ns/q"} }, ""},
		"revision gone":      {func(s *sight) { delete(s.revisions, "ns/r") }, "revision ns/r, which does not exist"},
		"directory left":     {func(s *sight) { s.directories = append(s.directories, "[d] b") }, "directory [d] b belongs to no machine"},
		"folder left":        {func(s *sight) { s.folders = append(s.folders, "old") }, "folder old belongs to no namespace"},
		"foreign gone":       {func(s *sight) { delete(s.foreign, "f") }, "foreign: f is gone"},
		"foreign touched":    {func(s *sight) { s.foreign["f"] = "as it is" }, "f was touched: …as it was… became …as it is…"},
		"size that waits":    {func(s *sight) { s.machines[0].vcpus = 4; change(s, func(o *object) { o.waits = true }) }, ""},
		"no machine known":   {func(s *sight) { change(s, func(o *object) { o.uid = "new" }) }, "ns/a (new) has no machine in vSphere"},
	} {
		t.Run(name, func(t *testing.T) {
			want, moIDs, before, s := healthy()
			tc.spoil(&s)
			found := strings.Join(problems(want, moIDs, before, s), "\n")
			if !strings.Contains(found, tc.want) || (found == "") != (tc.want == "") {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}

func TestEventsThatDoNotExistAreRefused(t *testing.T) {
	if _, err := selected("kill,flood"); err == nil || !strings.Contains(err.Error(), `"flood" given`) || !strings.Contains(err.Error(), "sessions") {
		t.Errorf("error %v, want one that names flood and what is allowed", err)
	}
}

func TestGoroutinesOfOthersAndOfRequestsDoNotCount(t *testing.T) {
	const profile = `goroutine profile: total 42
7 @ 0x1 0x2
#	0x1	github.com/slipway-dev/slipway/pkg/controller.(*Controller).Run+0x1	controller.go:1

20 @ 0x3
#	0x3	k8s.io/client-go/tools/cache.(*Reflector).watch+0x1	reflector.go:1

12 @ 0x4
#	0x4	github.com/slipway-dev/slipway/pkg/apiserver.BuildHandlerChain.func1+0x1	handlers.go:1
#	0x5	net/http.HandlerFunc.ServeHTTP+0x1	server.go:1

3 @ 0x6
#	0x6	github.com/vmware/govmomi/property.(*Collector).WaitForUpdatesEx+0x1	collector.go:1
`
	n, stacks := own(profile)
	if n != 10 {
		t.Errorf("%d goroutines are ours, want 10: %v", n, stacks)
	}
	fewer := strings.Replace(profile, "7 @ 0x1", "2 @ 0x1", 1)
	_, fresh := own(fewer)
	const want = `5 more at 0x1 0x2
#	0x1	github.com/slipway-dev/slipway/pkg/controller.(*Controller).Run+0x1	controller.go:1
`
	if got := more(stacks, fresh); got != want {
		t.Errorf("what is more:\n%s\nwant:\n%s", got, want)
	}
}

func TestWhatAProcessHasLeftIsNamed(t *testing.T) {
	start := time.Now()
	fresh := use{goroutines: 40, files: 50, opened: 7}
	ended := map[string]time.Time{"of a process before": start.Add(-time.Second), "soap": start, "rest": start}
	if err := (use{goroutines: 50, files: 150, opened: 7, sessions: ended}).left(fresh, start); err != nil {
		t.Errorf("within the slack: %v", err)
	}
	for want, u := range map[string]use{
		"left: 51 goroutines, there were 40:\n11 more at somewhere": {goroutines: 51, stacks: map[string]int{"somewhere": 11}},
		"left: 151 open files":               {files: 151},
		"left: 8 views":                      {opened: 8},
		"left: the server has 3 sessions at": {sessions: map[string]time.Time{"a": start, "b": start, "c": start.Add(time.Second)}},
	} {
		if err := u.left(fresh, start); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
