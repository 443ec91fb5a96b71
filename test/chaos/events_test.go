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

// event is something that goes wrong.
type event struct {
	// lasts reports whether the event continues over the next rounds, including kills of the server. During the other
	// events the server could not become ready.
	lasts bool
	// asked events happen only when -events names them: not everything of them is
	// survived every time.
	asked bool
	// hinders reports whether the event makes calls to vCenter fail or wait, including the calls that end other
	// events. It ends before them.
	hinders bool
	// begin starts the event and returns a function that ends it and may be called again.
	begin func(ctx context.Context, s *storm) (end func(context.Context) error, err error)
}

// kill is the event of every round. As an event it can be omitted.
const kill = "kill"

// events are all events, by the name that -events accepts.
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

// tasks that can be slow, and methods whose calls can be held.
var (
	tasks = []string{"CreateVm", "CloneVm", "ReconfigVm", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task"}
	held  = []string{"WaitForUpdatesEx", "FindAllByUuid", "CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task", "PowerOffVM_Task", "Destroy_Task", "RetrievePropertiesEx"}
)

func done(context.Context) error { return nil }

// selected are the events that a list of names asks for: "all", or when it is empty
// those that need not be asked for.
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
			return nil, fmt.Errorf("-events: %q given, all or some of %s are allowed", name, strings.Join(all, ","))
		}
	}
	return names, nil
}

func (s *storm) pick(from []string) string { return from[s.random.IntN(len(from))] }

func (s *storm) ordered(method, path string) func(context.Context) error {
	return func(ctx context.Context) error { return s.control(ctx, method, path, nil) }
}

// control gives an order to the simulated vCenter and decodes its answer.
func (s *storm) control(ctx context.Context, method, path string, into any) error {
	body, err := vsphereclient.Order(ctx, s.cluster.VCenter().ControlURL, method, path)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}
