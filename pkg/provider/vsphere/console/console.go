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

// maxScreenshotBytes is the maximum size of a screenshot in bytes: 3840 by 2160 pixels with four bytes
// each, uncompressed.
const maxScreenshotBytes = 32 << 20

// screenPath is the path of vCenter's screenshots. The parameter id is the managed object ID.
const screenPath = "/screen"

// Machine is the vSphere VM of an object.
type Machine struct {
	Session *session.Session
	// Ref is nil if the VM does not exist.
	Ref *types.ManagedObjectReference
	// Owner is the VM's expected owner.
	Owner observe.Owner
}

// Ticket requests a console ticket.
func (m *Machine) Ticket(ctx context.Context) (*provider.Console, error) {
	if err := m.checkConsole(ctx); err != nil {
		return nil, err
	}
	vim, err := m.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	res, err := methods.AcquireTicket(ctx, vim, &types.AcquireTicket{This: *m.Ref, TicketType: string(types.VirtualMachineTicketTypeWebmks)})
	if err != nil {
		return nil, fmt.Errorf("requesting a console ticket for %s: %w", m.Ref.Value, err)
	}
	return convertTicket(&res.Returnval, vim.URL().Hostname(), m.Ref.Value)
}

// convertTicket converts a ticket. The URL is the one in the ticket. If it has none, the URL is built as
// the API documentation specifies.
func convertTicket(t *types.VirtualMachineTicket, vcenter, vm string) (*provider.Console, error) {
	if t.Host == "" || t.Ticket == "" {
		return nil, fmt.Errorf("vCenter returned a console ticket for %s without a host", vm)
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

// Screenshot requests a screenshot of the console. It is a PNG.
func (m *Machine) Screenshot(ctx context.Context) ([]byte, error) {
	if err := m.checkConsole(ctx); err != nil {
		return nil, err
	}
	data, err := m.Session.Download(ctx, screenPath, url.Values{"id": {m.Ref.Value}}, maxScreenshotBytes)
	if err != nil {
		return nil, fmt.Errorf("requesting a screenshot of the console of %s: %w", m.Ref.Value, err)
	}
	if _, err := png.DecodeConfig(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("the screenshot that vCenter returned for %s is not a PNG: %w", m.Ref.Value, err)
	}
	return data, nil
}

// checkConsole returns an error if the VM does not belong to the owner or has no console now.
func (m *Machine) checkConsole(ctx context.Context) error {
	none := &provider.NotUsableError{Message: "the virtual machine does not exist in vSphere", Missing: true}
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
	case vimfault.IsNotFound(err, *m.Ref):
		return none
	case err != nil:
		return fmt.Errorf("reading the power state of %s: %w", m.Ref.Value, err)
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
