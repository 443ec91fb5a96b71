// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"crypto/rand"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ticketNeeds are the privileges for tickets by their type (vSphere Web Services API,
// AcquireTicket). Others than those for a console are not simulated.
var ticketNeeds = map[string]string{
	string(types.VirtualMachineTicketTypeWebmks): "VirtualMachine.Interact.ConsoleInteract",
	string(types.VirtualMachineTicketTypeMks):    "VirtualMachine.Interact.ConsoleInteract",
}

const (
	// consolePort is the port of WebSockets for consoles on hosts.
	consolePort = 443
	// hostThumbprint and hostThumbprint256 are the thumbprints of the certificates of all hosts.
	hostThumbprint    = "5D:01:8A:5B:0C:8D:2C:9E:11:4F:52:64:90:AE:7B:1F:33:0D:C2:77"
	hostThumbprint256 = "9F:86:D0:81:88:4C:7D:65:9A:2F:EA:A0:C5:5A:D0:15:A3:BF:4F:1B:2B:0B:82:2C:D1:5D:6C:15:B0:F0:0A:08"
)

// AcquireTicket returns a ticket for the console of a running virtual machine. Nothing answers at its address. That a
// virtual machine which does not run is rejected with InvalidPowerState is a judgement, because the API does not
// specify it.
func (g *Gate) AcquireTicket(ctx *simulator.Context, req *types.AcquireTicket) soap.HasFault {
	body := &methods.AcquireTicketBody{}
	vm, ok := ctx.Map.Get(req.This).(*simulator.VirtualMachine)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.This})
		return body
	}
	if ticketNeeds[req.TicketType] == "" {
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "ticketType"})
		return body
	}
	var state types.VirtualMachinePowerState
	var home *types.ManagedObjectReference
	var file string
	ctx.WithLock(vm, func() { state, home, file = vm.Runtime.PowerState, vm.Runtime.Host, vm.Config.Files.VmPathName })
	if state != types.VirtualMachinePowerStatePoweredOn {
		body.Fault_ = simulator.Fault("", &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: state})
		return body
	}
	ticket := types.VirtualMachineTicket{
		Ticket: rand.Text(), CfgFile: file, Port: consolePort, SslThumbprint: hostThumbprint,
		CertThumbprintList: []types.VirtualMachineCertThumbprint{
			{Thumbprint: hostThumbprint256, HashAlgorithm: string(types.VirtualMachineCertThumbprintHashAlgorithmSha256)},
		},
	}
	if home != nil {
		if host, ok := ctx.Map.Get(*home).(*simulator.HostSystem); ok {
			ticket.Host = host.Name
		}
	}
	if req.TicketType == string(types.VirtualMachineTicketTypeWebmks) {
		ticket.Url = fmt.Sprintf("wss://%s:%d/ticket/%s", ticket.Host, ticket.Port, ticket.Ticket)
	}
	body.Res = &types.AcquireTicketResponse{Returnval: ticket}
	return body
}
