// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"

	"github.com/slipway-dev/slipway/test/vcenter/events"
)

// command sends a control request and decodes the response into out.
func command(t *testing.T, s *Server, method, path string, q url.Values, out any) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.Ready().ControlURL+path+"?"+q.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil && res.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, out); err != nil {
			t.Fatalf("%s %s: %q: %v", method, path, body, err)
		}
	}
	return res.StatusCode, string(body)
}

// destroyRunning powers a virtual machine off and destroys it.
func destroyRunning(ctx context.Context, c *govmomi.Client, id string) error {
	vm := object.NewVirtualMachine(c.Client, *ref("VirtualMachine", id))
	for _, do := range []func(context.Context) (*object.Task, error){vm.PowerOff, vm.Destroy} {
		task, err := do(ctx)
		if err := faultOf(ctx, task, err); err != nil {
			return err
		}
	}
	return nil
}

// findVM returns the virtual machine that matches.
func findVM(s *Server, fits func(events.VM) bool) (events.VM, bool) {
	all := s.Events().VMs()
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return all[i], true
	}
	return events.VM{}, false
}

// standing are the values that a disturbance and its inverse leave unchanged.
type standing struct{ Name, InstanceUUID, PowerState, Folder, State, Path string }

func standings(s *Server) []standing {
	var all []standing
	for _, vm := range s.Events().VMs() {
		all = append(all, standing{vm.Name, vm.InstanceUUID, vm.PowerState, vm.Folder, vm.State, vm.Path})
	}
	slices.SortFunc(all, func(a, b standing) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func TestDisturbances_AreVisibleAndReversible(t *testing.T) {
	for _, kind := range events.Kinds() {
		t.Run(kind, func(t *testing.T) {
			ctx := testContext(t)
			s := startServer(t, Options{ControlListen: DefaultListen})
			c := connect(ctx, t, s)
			p := findPlaces(ctx, t, c)
			for i := range 3 {
				vm := create(ctx, t, c, p, machine(fmt.Sprintf("vm-%d", i)))
				task, err := vm.PowerOn(ctx)
				wait(ctx, t, task, err)
			}
			before, ids := standings(s), s.Events().VMs()
			filesBefore, err := s.Events().Files()
			if err != nil {
				t.Fatal(err)
			}
			var all []events.Disturbance
			for range 3 {
				var d events.Disturbance
				if code, text := command(t, s, http.MethodPost, "/chaos", url.Values{"kind": {kind}, "from": {"/DC0/vm/slipway"}, "to": {"/DC0/vm"}}, &d); code != http.StatusOK {
					t.Fatalf("disturb: %d %s", code, text)
				}
				all = append(all, d)
			}
			if code, text := command(t, s, http.MethodPost, "/chaos", url.Values{"kind": {kind}, "from": {"/DC0/vm/slipway"}, "to": {"/DC0/vm"}}, nil); code != http.StatusBadRequest {
				t.Errorf("a fourth disturbance of three machines: %d %s", code, text)
			}
			if d := cmp.Diff(ids, s.Events().VMs()); d == "" {
				t.Errorf("nothing has changed")
			}
			for _, was := range ids {
				_, ok := findVM(s, func(vm events.VM) bool { return vm.ID == was.ID || vm.InstanceUUID == was.InstanceUUID })
				if gone := kind == events.KindRenumber || kind == events.KindUnregister; !was.Template && ok == gone {
					t.Errorf("%s: a VM with its ID or instance UUID exists: %t", was.Name, ok)
				}
			}
			command(t, s, http.MethodDelete, "/chaos", url.Values{"id": {fmt.Sprint(all[0].ID)}}, nil)
			if code, text := command(t, s, http.MethodDelete, "/chaos", nil, nil); code != http.StatusOK {
				t.Fatalf("undo: %d %s", code, text)
			}
			if d := cmp.Diff(before, standings(s)); d != "" {
				t.Errorf("after the inverse (-before +after):\n%s", d)
			}
			filesAfter, err := s.Events().Files()
			if d := cmp.Diff(filesBefore, filesAfter); d != "" || err != nil {
				t.Errorf("files after the inverse (-before +after):\n%s, %v", d, err)
			}
			// Each can be reconfigured.
			c = connect(ctx, t, s)
			for _, vm := range s.Events().VMs() {
				if vm.Template {
					continue
				}
				if err := destroyRunning(ctx, c, vm.ID); err != nil {
					t.Errorf("%s: %v", vm.Name, err)
				}
			}
		})
	}
}

func TestOpened_ListsSessionsAndViews(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{ControlListen: DefaultListen})
	if n := s.Front().RESTSessions(); n != 0 {
		t.Errorf("%d REST sessions at the start", n)
	}
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	r := connectREST(ctx, t, c)
	libraryItem(t, r)
	watched := follow(ctx, t, c, p.folder, "name")
	kinds := map[string]int{}
	var opened []struct{ Kind string }
	command(t, s, http.MethodGet, "/opened", nil, &opened)
	for _, o := range opened {
		kinds[o.Kind]++
	}
	if d := cmp.Diff(map[string]int{"ContainerView": 1, "PropertyCollector": 1, "PropertyFilter": 1}, kinds); d != "" {
		t.Errorf("open (-want +got):\n%s", d)
	}
	var sessions []struct{ User string }
	var restSessions int
	command(t, s, http.MethodGet, "/sessions", nil, &sessions)
	command(t, s, http.MethodGet, "/sessions/rest", nil, &restSessions)
	if len(sessions) != 1 || sessions[0].User != DefaultUsername || restSessions != 1 {
		t.Errorf("sessions %v, over REST %d, want one each", sessions, restSessions)
	}
	s.TaskDelays().Set("PowerOnVM_Task", 10*60*1000)
	vm := create(ctx, t, c, p, machine("db"))
	task, err := vm.PowerOn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if tasks := s.Events().Tasks(); len(tasks) != 1 || tasks[0].ID != task.Reference().Value {
		t.Errorf("tasks under way: %v", tasks)
	}
	if err := task.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if err := watched.pc.Destroy(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(ctx); err != nil {
		t.Fatal(err)
	}
	if len(s.Sessions()) != 0 || len(s.Opened()) != 0 || s.Front().RESTSessions() != 0 {
		t.Errorf("after the logout: %v, %v, %d over REST", s.Sessions(), s.Opened(), s.Front().RESTSessions())
	}
}

func TestCommands_ReportWhyTheyFailed(t *testing.T) {
	s := startServer(t, Options{ControlListen: DefaultListen})
	for _, test := range []struct{ method, path, query, want string }{
		{"POST", "/vm/hide", "vm=missing", `vm: "missing"`},
		{"POST", "/vm/hide", "vm=" + Template + "&state=sleepy", `state: "sleepy"`},
		{"POST", "/vm/move", "vm=" + Template + "&folder=/DC0/nowhere", `"/DC0/nowhere"`},
		{"POST", "/vm/register", "path=nowhere", `"nowhere"`},
		{"POST", "/host/remove", "host=h", `host: "h"`},
		{"POST", "/restart", "tasks=perhaps", `tasks: "perhaps"`},
		{"POST", "/restart", "down=-1", `down: "-1"`},
		{"PUT", "/permissions", "entity=/nowhere", `"/nowhere"`},
		{"PUT", "/tasks/limit", "perHost=-1", `perHost: "-1"`},
		{"PUT", "/lockout", "enabled=perhaps", `enabled: "perhaps"`},
		{"POST", "/chaos", "from=/DC0/vm/slipway", `"/DC0/vm/slipway"`},
		{"DELETE", "/chaos", "id=x", `id: "x"`},
	} {
		q, err := url.ParseQuery(test.query)
		if err != nil {
			t.Fatal(err)
		}
		if code, text := command(t, s, test.method, test.path, q, nil); code != http.StatusBadRequest || !strings.Contains(text, test.want) {
			t.Errorf("%s %s?%s: %d %q, want 400 with %s", test.method, test.path, test.query, code, text, test.want)
		}
	}
}

func TestDisturbances_DoNotAffectOtherClients(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	var working sync.WaitGroup
	done := make(chan struct{})
	// One client only: the simulator updates the space of disks without a lock, and the race detector reports
	// concurrent creations.
	const clients, each = 1, 30
	for i := range clients {
		c := connect(ctx, t, s)
		p := findPlaces(ctx, t, c)
		working.Go(func() {
			for j := range each {
				// Every failure is caused by the disturbance.
				_ = live(ctx, c, p, fmt.Sprintf("vm-%d-%d", i, j), j)
			}
		})
	}
	go func() { working.Wait(); close(done) }()
	disturbed := 0
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
			if d, err := s.Events().Disturb("", "/DC0/vm/slipway", "/DC0/vm"); err == nil {
				if disturbed++; disturbed%2 == 0 {
					_ = s.Events().Undo(d.ID) // its VM may be deleted
				}
			}
		}
	}
	if err := s.Events().UndoAll(); err != nil {
		t.Fatal(err)
	}
	c := connect(ctx, t, s)
	seen := map[string]string{}
	for _, vm := range s.Events().VMs() {
		if other := seen[vm.InstanceUUID]; other != "" {
			t.Errorf("%s and %s have the instance UUID %s", vm.Name, other, vm.InstanceUUID)
		}
		if seen[vm.InstanceUUID] = vm.Name; vm.Template {
			continue
		}
		if vm.State != "connected" {
			t.Errorf("%s is %s after all was undone", vm.Name, vm.State)
		}
		machine := object.NewVirtualMachine(c.Client, *ref("VirtualMachine", vm.ID))
		if vm.PowerState == "poweredOn" {
			task, err := machine.PowerOff(ctx)
			wait(ctx, t, task, err)
		}
		task, err := machine.Destroy(ctx)
		wait(ctx, t, task, err)
	}
	if left := s.Events().VMs(); len(left) != 1 || disturbed == 0 {
		t.Errorf("after %d disturbances and the destruction of all there are %v, want the template", disturbed, left)
	}
	files, err := s.Events().Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.Contains(file, Template) {
			t.Errorf("%s is left", file)
		}
	}
}
