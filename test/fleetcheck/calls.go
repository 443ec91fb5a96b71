// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/event"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vcenter/front"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// Operation is an operation that changes a vSphere machine.
type Operation string

// Operations, independent of the method that requests them.
const (
	Create      Operation = "create"
	Reconfigure Operation = "reconfigure"
	PowerOn     Operation = "power on"
	PowerOff    Operation = "power off"
	Destroy     Operation = "destroy"
	// Other is every other task.
	Other Operation = "other"
)

// Operations lists them in the order in which a VM needs them.
func Operations() []Operation {
	return []Operation{Create, Reconfigure, PowerOn, PowerOff, Destroy, Other}
}

// methods are the methods that request an operation.
var methods = map[string]Operation{
	"CreateVM_Task": Create, "CloneVM_Task": Create, "ImportVApp": Create, "RegisterVM_Task": Create,
	"ReconfigVM_Task": Reconfigure,
	"PowerOnVM_Task":  PowerOn,
	"PowerOffVM_Task": PowerOff, "ShutdownGuest": PowerOff,
	"Destroy_Task": Destroy, "UnregisterVM": Destroy,
	"RebootGuest": Other, "StandbyGuest": Other,
}

// operationOf returns the operation that a traced call requests, and false if the call changes nothing.
func operationOf(call string) (Operation, bool) {
	if op, ok := methods[call]; ok {
		return op, true
	}
	if strings.HasPrefix(call, "POST ") && strings.Contains(call, "action=deploy") {
		return Create, true
	}
	return Other, strings.HasSuffix(call, "_Task")
}

// events are the vSphere events of operations that took effect. The reconfiguration that is part of a clone or
// deployment has an event, too.
var events = map[string]Operation{
	"VmCreatedEvent": Create, "VmRegisteredEvent": Create,
	"VmReconfiguredEvent": Reconfigure,
	"VmPoweredOnEvent":    PowerOn,
	"VmPoweredOffEvent":   PowerOff,
	"VmRemovedEvent":      Destroy,
}

// Counts are how often each operation was counted.
type Counts map[Operation]int

// String lists all counts that are not zero.
func (c Counts) String() string {
	var all []string
	for _, op := range Operations() {
		if c[op] > 0 {
			all = append(all, fmt.Sprintf("%s %d", op, c[op]))
		}
	}
	return strings.Join(all, ", ")
}

// Moment is a position in the events of a vCenter.
type Moment struct{ event int32 }

// Now returns the position of the last event. After the first call, Look stores events, because vCenter only keeps the
// last 1000, including logins of Look.
func (c *Checker) Now(ctx context.Context) (Moment, error) {
	if c.effects == nil {
		c.effects = map[int32]effect{}
	}
	err := c.rememberEffects(ctx)
	m := Moment{}
	for key := range c.effects {
		m.event = max(m.event, key)
	}
	return m, err
}

// Call is a call that requests an operation from vSphere.
type Call struct {
	Operation Operation
	// Time is the time at which it was received.
	Time time.Time
}

// Asked counts the vSphere calls for a VM in the trace of the simulated vCenter. The name must not be a part of any
// other text in a call.
func (c *Checker) Asked(ctx context.Context, name string, moIDs ...string) (Counts, error) {
	calls, err := Calls(ctx, c.cluster, name, moIDs...)
	if err != nil {
		return nil, err
	}
	asked := Counts{}
	for _, call := range calls {
		asked[call.Operation]++
	}
	return asked, nil
}

// Calls returns the calls that Asked counts, in order of time.
func Calls(ctx context.Context, cluster *localcluster.Cluster, name string, moIDs ...string) ([]Call, error) {
	texts := url.Values{"text": {name}}
	for _, id := range moIDs {
		texts.Add("text", ">"+id+"</_this>")
	}
	body, err := vsphereclient.Order(ctx, cluster.VCenter().ControlURL, http.MethodGet, "/trace?"+texts.Encode())
	if err != nil {
		return nil, err
	}
	var traced []front.TracedCall
	if err := json.Unmarshal(body, &traced); err != nil {
		return nil, fmt.Errorf("reading the trace of the vCenter: %w", err)
	}
	var calls []Call
	for _, call := range traced {
		if op, ok := operationOf(call.Call); ok {
			calls = append(calls, Call{op, call.Time})
		}
	}
	return calls, nil
}

// Done counts the effects on VMs of that name since a moment.
func (c *Checker) Done(ctx context.Context, after Moment, name string) (Counts, error) {
	err := c.rememberEffects(ctx)
	done := Counts{}
	for key, e := range c.effects {
		if key > after.event && e.machine == name {
			done[e.op]++
		}
	}
	return done, err
}

// effect is an operation that took effect.
type effect struct {
	op      Operation
	machine string
}

// rememberEffects reads the events of operations that took effect.
func (c *Checker) rememberEffects(ctx context.Context) error {
	client, logout, err := Connect(ctx, c.cluster)
	if err != nil {
		return err
	}
	defer logout()
	const most = 1000
	filter := vimtypes.EventFilterSpec{MaxCount: most}
	for kind := range events {
		filter.EventTypeId = append(filter.EventTypeId, kind)
	}
	slices.Sort(filter.EventTypeId)
	all, err := event.NewManager(client.Client).QueryEvents(ctx, filter)
	if err != nil {
		return fmt.Errorf("reading the events of the vCenter: %w", err)
	}
	for _, e := range all {
		if of := e.GetEvent(); of.Vm != nil {
			c.effects[of.Key] = effect{events[reflect.TypeOf(e).Elem().Name()], of.Vm.Name}
		}
	}
	return nil
}
