// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/console"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// newIdleDriver returns a driver that does not run, like the driver of another replica.
func newIdleDriver(t *testing.T, ready vcenter.Ready, counted *calls) *Driver {
	t.Helper()
	d, err := New(Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", OnCall: counted.count,
		Permit: denyChanges{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.session.Close)
	return d
}

// denyChanges permits no changes, as in a process without the Lease.
type denyChanges struct{ session.Permit }

func (denyChanges) Check() error { return errors.New("no change is permitted") }

func identityOf(req *provider.Request) driver.Identity { return engine.DesiredOf(req).Identity }

func TestConsole_BelongsToTheObjectsRunningVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req, other := newRequest("web", libraryImage()), newRequest("other", libraryImage())
	l.until("both VMs run", func() bool { return isRunning(req)() && isRunning(other)() }, req, other)
	counted := &calls{}
	d := newIdleDriver(t, ready, counted)

	ticket, err := d.Console(t.Context(), identityOf(req))
	if err != nil {
		t.Fatal(err)
	}
	if want := "wss://" + ticket.Host + ":443/ticket/" + ticket.Ticket; ticket.URL != want || ticket.Ticket == "" || ticket.Host != req.VM.Status.NodeName {
		t.Errorf("URL %q with host %q, want %q with the VM's host %q", ticket.URL, ticket.Host, want, req.VM.Status.NodeName)
	}
	if len(ticket.Thumbprint) != 59 || len(ticket.ThumbprintSHA256) != 95 {
		t.Errorf("thumbprints %q and %q, want both", ticket.Thumbprint, ticket.ThumbprintSHA256)
	}
	if want := "vmrc://127.0.0.1/?moid=" + req.VM.Status.UniqueID; ticket.RemoteConsoleURL != want {
		t.Errorf("remote console URL %q, want %q without the ticket", ticket.RemoteConsoleURL, want)
	}
	picture, err := d.Screenshot(t.Context(), identityOf(req))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(strings.NewReader(string(picture))); err != nil {
		t.Errorf("the screenshot of %d bytes is not a PNG: %v", len(picture), err)
	}
	if n := counted.snapshot(); n["AcquireTicket"] != 1 || n["Fetch /screen"] != 1 || n["CreateScreenshot_Task"] != 0 {
		t.Errorf("calls = %v, want one for the ticket and one for the screenshot", n)
	}

	// A user who can write a status may set it to a VM of another namespace.
	forged := identityOf(req)
	forged.UniqueID = other.VM.Status.UniqueID
	var none *provider.NotUsableError
	if got, err := d.Console(t.Context(), forged); !errors.As(err, &none) || !none.Missing {
		t.Errorf("with the ID of another VM: %+v, %v; want an error", got, err)
	}
	forged.UID, forged.InstanceUUID = "other-uid", "00000000-0000-0000-0000-000000000000"
	for what, ask := range map[string]func() error{
		"console": func() error { _, err := d.Console(t.Context(), forged); return err },
		"picture": func() error { _, err := d.Screenshot(t.Context(), forged); return err },
	} {
		var notUsable *provider.NotUsableError
		if err := ask(); !errors.As(err, &notUsable) || !notUsable.Missing {
			t.Errorf("%s of the VM of another object: %v, want a not-found error", what, err)
		}
	}
	// A VM may be unreadable when it is found, and owned by another object when the ticket is requested.
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: other.VM.Status.UniqueID}
	machine := &console.Machine{Session: d.session, Ref: &ref, Owner: ownerOf(identityOf(req))}
	var notUsable *provider.NotUsableError
	if _, err := machine.Ticket(t.Context()); !errors.As(err, &notUsable) {
		t.Errorf("a ticket for a VM that is now owned by another object: %v, want a not-found error", err)
	}
	l.remove(req)
	l.remove(other)
}

func TestConsole_ReportsWhyItIsUnavailable(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	d := newIdleDriver(t, ready, &calls{})
	id, vm := identityOf(req), url.QueryEscape(req.VM.Status.UniqueID)
	order := func(method, path string) { t.Helper(); simulated.Control(t, ready, method, path) }
	checkError := func(what string, is func(error) bool) {
		t.Helper()
		_, err := d.Console(t.Context(), id)
		if err == nil || !is(err) {
			t.Errorf("%s: a ticket: %v", what, err)
		}
		if _, err = d.Screenshot(t.Context(), id); err == nil || !is(err) {
			t.Errorf("%s: a screenshot: %v", what, err)
		}
	}

	order(http.MethodPost, "/vm/hide?state=disconnected&vm="+vm)
	checkError("host disconnected", func(err error) bool { return errors.Is(err, provider.ErrUnknownState) })
	order(http.MethodPost, "/vm/show?vm="+vm)

	order(http.MethodPut, "/permissions?without=VirtualMachine.Interact.ConsoleInteract,VirtualMachine.Interact.CreateScreenshot&entity="+vm)
	if _, err := d.Console(t.Context(), id); vimfault.KindOf(err) != vimfault.Denied || !strings.Contains(err.Error(), "VirtualMachine.Interact.ConsoleInteract") {
		t.Errorf("a ticket without the privilege: %v, want an error that names the privilege", err)
	}
	var status *session.StatusError
	if _, err := d.Screenshot(t.Context(), id); !errors.As(err, &status) || status.StatusCode != http.StatusForbidden {
		t.Errorf("a screenshot without the privilege: %v, want status 403", err)
	}
	order(http.MethodDelete, "/permissions?entity="+vm)

	order(http.MethodPut, "/screen?bytes=1000")
	if _, err := d.Screenshot(t.Context(), id); err == nil || !strings.Contains(err.Error(), "not a PNG") {
		t.Errorf("a response that is not a PNG: %v", err)
	}
	order(http.MethodPut, "/screen?bytes=33554433")
	if _, err := d.Screenshot(t.Context(), id); err == nil || !strings.Contains(err.Error(), "larger than 33554432 bytes") {
		t.Errorf("a response that is too large: %v", err)
	}
	order(http.MethodPut, "/screen?bytes=0")
	order(http.MethodPost, "/sessions/drop")
	if _, err := d.session.Download(t.Context(), "/screen", url.Values{"id": {req.VM.Status.UniqueID}}, 1<<20); err != nil {
		t.Errorf("after the session has ended: %v, want a new login", err)
	}

	req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	checkError("powered off", func(err error) bool { return errors.Is(err, provider.ErrNotPoweredOn) })
	l.remove(req)
	checkError("not found", func(err error) bool { var none *provider.NotUsableError; return errors.As(err, &none) && none.Missing })
}
