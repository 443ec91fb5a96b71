// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// maxPicture bounds a picture, in bytes: that of 3840 by 2160 pixels with four bytes each,
// without any compression.
const maxPicture = 32 << 20

// screenPath is where vCenter serves pictures of consoles, by the managed object ID.
const screenPath = "/screen"

// Machine is the VM of an object, as vCenter was asked for it.
type Machine struct {
	Session *session.Session
	// Ref is nil if there is none.
	Ref *types.ManagedObjectReference
	// Owner is the object.
	Owner observe.Owner
}

// Ticket asks for a ticket.
func (m *Machine) Ticket(ctx context.Context) (*provider.Console, error) {
	if err := m.shown(ctx); err != nil {
		return nil, err
	}
	vim, err := m.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	res, err := methods.AcquireTicket(ctx, vim, &types.AcquireTicket{This: *m.Ref, TicketType: string(types.VirtualMachineTicketTypeWebmks)})
	if err != nil {
		return nil, fmt.Errorf("asking for a ticket for the console of %s: %w", m.Ref.Value, err)
	}
	return ticketOf(&res.Returnval, vim.URL().Hostname(), m.Ref.Value)
}

// ticketOf is what is passed on of a ticket. The URL is put together as the API says; an own
// one of the ticket counts before that.
func ticketOf(t *types.VirtualMachineTicket, vcenter, vm string) (*provider.Console, error) {
	if t.Host == "" || t.Ticket == "" {
		return nil, fmt.Errorf("vCenter gave a ticket for the console of %s without saying of which host", vm)
	}
	c := &provider.Console{
		URL: t.Url, Host: t.Host, Port: t.Port, Ticket: t.Ticket, Thumbprint: t.SslThumbprint,
		RemoteConsoleURL: (&url.URL{Scheme: "vmrc", Host: vcenter, Path: "/", RawQuery: url.Values{"moid": {vm}}.Encode()}).String(),
	}
	if c.Port == 0 {
		c.Port = 443
	}
	if c.URL == "" {
		at := net.JoinHostPort(strings.Trim(c.Host, "[]"), strconv.Itoa(int(c.Port)))
		c.URL = (&url.URL{Scheme: "wss", Host: at, Path: "/ticket/" + c.Ticket}).String()
	}
	for _, p := range t.CertThumbprintList {
		if strings.EqualFold(p.HashAlgorithm, string(types.VirtualMachineCertThumbprintHashAlgorithmSha256)) {
			c.ThumbprintSHA256 = p.Thumbprint
		}
	}
	return c, nil
}

// Picture asks for a picture of the console, which is a PNG.
func (m *Machine) Picture(ctx context.Context) ([]byte, error) {
	if err := m.shown(ctx); err != nil {
		return nil, err
	}
	data, err := m.Session.Fetch(ctx, screenPath, url.Values{"id": {m.Ref.Value}}, maxPicture)
	if err != nil {
		return nil, fmt.Errorf("asking for a picture of the console of %s: %w", m.Ref.Value, err)
	}
	if _, err := png.DecodeConfig(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("what vCenter answered for the console of %s is no PNG: %w", m.Ref.Value, err)
	}
	return data, nil
}

// shown is nil if the VM is the owner's and has a console now.
func (m *Machine) shown(ctx context.Context) error {
	none := &provider.NotUsableError{Message: "vSphere has no VM of it", Missing: true}
	if m.Ref == nil {
		return none
	}
	vim, err := m.Session.Vim(ctx)
	if err != nil {
		return err
	}
	var vm mo.VirtualMachine
	err = property.DefaultCollector(vim).RetrieveOne(ctx, *m.Ref, []string{"runtime", "config.changeVersion", "config.instanceUuid", "config.extraConfig"}, &vm)
	switch {
	case vimfault.Gone(err, *m.Ref):
		return none
	case err != nil:
		return fmt.Errorf("reading whether %s runs: %w", m.Ref.Value, err)
	}
	switch vm.Self = *m.Ref; {
	case vm.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected:
		return fmt.Errorf("%w: vCenter cannot reach %s, which is %s", provider.ErrUnknownState, m.Ref.Value, vm.Runtime.ConnectionState)
	case vm.Config == nil:
		return errors.New("the configuration of " + m.Ref.Value + " cannot be read")
	case observe.OwnershipOf(&vm, m.Owner) != driver.Own:
		return none
	case vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn:
		return fmt.Errorf("%w: it is %s", provider.ErrNotPoweredOn, vm.Runtime.PowerState)
	}
	return nil
}
