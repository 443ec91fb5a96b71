// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// event is a failure that the test injects.
type event struct {
	// lasts reports whether the event continues during the next rounds, including kills of the server. The other events
	// would prevent the server from becoming ready.
	lasts bool
	// asked events are injected only if -events lists them, because the environment does not recover from them in every
	// run.
	asked bool
	// hinders reports whether the event makes calls to vCenter fail or wait, including the calls that end other events.
	// Such an event ends first.
	hinders bool
	// begin starts the event and returns a function that ends it. The function may be called more than once.
	begin func(ctx context.Context, s *storm) (end func(context.Context) error, err error)
}

// kill is the event of every round. It is in the list so that -events can omit it.
const kill = "kill"

// events are all events, by their name in -events.
var events = map[string]event{
	kill: {},
	"sessions": {begin: func(ctx context.Context, s *storm) (func(context.Context) error, error) {
		return done, s.control(ctx, http.MethodPost, "/sessions/drop", nil)
	}},
	"outage": {hinders: true, begin: func(ctx context.Context, s *storm) (func(context.Context) error, error) {
		return s.ordered(http.MethodPost, "/outage?seconds=0"), s.control(ctx, http.MethodPost, "/outage?seconds=60", nil)
	}},
	"slow": {lasts: true, asked: true, begin: func(ctx context.Context, s *storm) (func(context.Context) error, error) {
		delay := "/taskdelay?method=" + s.pick(tasks) + "&ms="
		return s.ordered(http.MethodPut, delay+"0"), s.control(ctx, http.MethodPut, fmt.Sprintf("%s%d", delay, 100+s.random.IntN(3000)), nil)
	}},
	"hold": {hinders: true, begin: func(ctx context.Context, s *storm) (func(context.Context) error, error) {
		hold := "/hold?method=" + s.pick(held)
		return s.ordered(http.MethodDelete, hold), s.control(ctx, http.MethodPut, hold, nil)
	}},
	"rest": {asked: true, hinders: true, begin: func(ctx context.Context, s *storm) (func(context.Context) error, error) {
		return s.ordered(http.MethodPost, "/rest/start?seconds=0"), s.control(ctx, http.MethodPost, "/rest/start?seconds=60", nil)
	}},
	"vpxd": {asked: true, begin: func(ctx context.Context, s *storm) (func(context.Context) error, error) {
		return done, s.control(ctx, http.MethodPost, "/restart?down=3&rest=3&tasks="+s.pick([]string{"end", "continue"}), nil)
	}},
	"move":       {lasts: true, begin: move},
	"hide":       {lasts: true, asked: true, begin: hide},
	"unregister": {lasts: true, asked: true, begin: unregister},
	"renumber":   {asked: true, begin: renumber},
	"backup":     {lasts: true, asked: true, begin: backup},
	"guestinfo":  {asked: true, begin: guestInfo},
	"restore":    {asked: true, begin: restore},
	"disk":       {asked: true, begin: attach},
	"host":       {asked: true, begin: removeHost},
}

// tasks are the tasks that can be slow, and the methods whose calls can be held.
var (
	tasks = []string{"CreateVm", "CloneVm", "ReconfigVm", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task"}
	held  = []string{"WaitForUpdatesEx", "FindAllByUuid", "CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task", "RetrievePropertiesEx"}
)

func done(context.Context) error { return nil }

// selected returns the events in a list of names, or all events for "all". An empty list selects the events without
// asked.
func selected(list string) ([]string, error) {
	all := slices.Sorted(maps.Keys(events))
	switch list {
	case "all":
		return all, nil
	case "":
		return slices.DeleteFunc(all, func(name string) bool { return events[name].asked }), nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-events: %q: want all, or a list of %s", name, strings.Join(all, ","))
		}
	}
	return names, nil
}

func (s *storm) pick(from []string) string { return from[s.random.IntN(len(from))] }

func (s *storm) ordered(method, path string) func(context.Context) error {
	return func(ctx context.Context) error { return s.control(ctx, method, path, nil) }
}

// control sends a control request to the simulated vCenter and decodes its response.
func (s *storm) control(ctx context.Context, method, path string, into any) error {
	body, err := vsphereclient.Order(ctx, s.cluster.VCenter().ControlURL, method, path)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}
