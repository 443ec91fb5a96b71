// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"

	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/vcenter/front"
)

// machine is one virtual machine of a cell.
type machine struct {
	// name is unique among all cells of an environment.
	name string
	// before and after are the object before and after the order. They are empty if it does not exist.
	before, after string
	// on and big are the desired state at the end.
	on, big bool
	// inFlight is the operation during which the fault begins. held is the call that requests it, and task is the
	// vSphere task that executes it.
	inFlight   fleetcheck.Operation
	held, task string
	// asked are the calls of the whole order.
	asked fleetcheck.Counts
	// moIDs are the managed object IDs that it has had.
	moIDs []string
}

// state is the state of a cell's machines when the fault begins.
type state struct {
	name     string
	machines []machine
}

// Manifests of VMs, without their metadata.
const (
	fromItem     = `{image: {name: item}, instancetype: {name: small, kind: VirtualMachineInstancetype}, powerState: %s, powerOffMode: Hard}`
	fromTemplate = `{image: {name: template}, cpu: {sockets: 2}, memory: {guest: 2Gi}, powerState: %s, powerOffMode: Hard}`
)

func manifest(namespace, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s, namespace: %s}\nspec: %s\n", name, namespace, spec)
}

func off(spec string) string { return fmt.Sprintf(spec, "PoweredOff") }
func on(spec string) string  { return fmt.Sprintf(spec, "PoweredOn") }

// states are the columns of the matrix.
var states = []state{
	{"creating", []machine{
		{name: "item", after: on(fromItem), on: true, inFlight: fleetcheck.Create, held: front.RESTDeploy, task: "CreateVM_Task",
			asked: fleetcheck.Counts{fleetcheck.Create: 1, fleetcheck.PowerOn: 1}},
		{name: "template", after: on(fromTemplate), on: true, inFlight: fleetcheck.Create, held: "CloneVM_Task", task: "CloneVM_Task",
			asked: fleetcheck.Counts{fleetcheck.Create: 1, fleetcheck.PowerOn: 1}},
	}},
	{"resizing", []machine{
		{name: "typed", before: off(fromItem), after: strings.Replace(off(fromItem), "small", "big", 1), big: true,
			inFlight: fleetcheck.Reconfigure, held: "ReconfigVM_Task", task: "ReconfigVM_Task", asked: fleetcheck.Counts{fleetcheck.Reconfigure: 1}},
		{name: "sized", before: off(fromTemplate), after: strings.NewReplacer("sockets: 2", "sockets: 4", "2Gi", "4Gi").Replace(off(fromTemplate)), big: true,
			inFlight: fleetcheck.Reconfigure, held: "ReconfigVM_Task", task: "ReconfigVM_Task", asked: fleetcheck.Counts{fleetcheck.Reconfigure: 1}},
	}},
	{"power", []machine{ // a reconfiguration rewrites the persisted object record
		{name: "started", before: off(fromItem), after: on(fromItem), on: true,
			inFlight: fleetcheck.PowerOn, held: "PowerOnVM_Task", task: "PowerOnVM_Task", asked: fleetcheck.Counts{fleetcheck.PowerOn: 1, fleetcheck.Reconfigure: 1}},
		{name: "halted", before: on(fromTemplate), after: off(fromTemplate),
			inFlight: fleetcheck.PowerOff, held: "PowerOffVM_Task", task: "PowerOffVM_Task", asked: fleetcheck.Counts{fleetcheck.PowerOff: 1, fleetcheck.Reconfigure: 1}},
	}},
	{"deleting", []machine{
		{name: "running", before: on(fromItem), inFlight: fleetcheck.PowerOff, held: "PowerOffVM_Task", task: "PowerOffVM_Task",
			asked: fleetcheck.Counts{fleetcheck.PowerOff: 1, fleetcheck.Destroy: 1}},
		{name: "resting", before: off(fromTemplate), inFlight: fleetcheck.Destroy, held: "Destroy_Task", task: "Destroy_Task",
			asked: fleetcheck.Counts{fleetcheck.Destroy: 1}},
	}},
}

// wish returns the desired state of the VM at the start of the cell or at the end.
func (m machine) wish(namespace string, begins bool) fleetcheck.Wish {
	w := fleetcheck.Wish{Namespace: namespace, Name: m.name, On: m.on, VCPUs: 2, MemoryMB: 2048}
	if begins {
		w.On = strings.Contains(m.before, "PoweredOn")
	} else if m.big {
		w.VCPUs, w.MemoryMB = 4, 4096
	}
	return w
}
