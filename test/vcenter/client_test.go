// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// testTimeout limits one test. On an idle machine no test needs a tenth of it.
const testTimeout = 2 * time.Minute

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// startServer starts a simulated vCenter that stops with the test.
func startServer(t *testing.T, o Options) *Server {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return s
}

func account() *url.Userinfo { return url.UserPassword(DefaultUsername, DefaultPassword) }

// connect returns a client that is logged in and trusts only the server's certificate.
func connect(ctx context.Context, t *testing.T, s *Server) *govmomi.Client {
	t.Helper()
	c := dial(ctx, t, s)
	if err := c.Login(ctx, account()); err != nil {
		t.Fatalf("log in: %v", err)
	}
	return c
}

// dial returns a client without a session.
func dial(ctx context.Context, t *testing.T, s *Server) *govmomi.Client {
	t.Helper()
	u, err := soap.ParseURL(s.Ready().URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := soap.NewClient(u, false)
	if err := transport.SetRootCAs(s.Ready().CAFile); err != nil {
		t.Fatal(err)
	}
	vim, err := vim25.NewClient(ctx, transport)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return &govmomi.Client{Client: vim, SessionManager: session.NewManager(vim)}
}

func newREST(c *govmomi.Client) *rest.Client { return rest.NewClient(c.Client) }

func connectREST(ctx context.Context, t *testing.T, c *govmomi.Client) *rest.Client {
	t.Helper()
	r := newREST(c)
	if err := r.Login(ctx, account()); err != nil {
		t.Fatalf("log in to vapi: %v", err)
	}
	return r
}

// places are the objects that creations refer to.
type places struct {
	folder, vmFolder *object.Folder
	pool             *object.ResourcePool
	template         *object.VirtualMachine
}

func findPlaces(ctx context.Context, t *testing.T, c *govmomi.Client) places {
	t.Helper()
	finder := find.NewFinder(c.Client)
	var p places
	var err error
	if p.folder, err = finder.Folder(ctx, "/DC0/vm/slipway"); err != nil {
		t.Fatal(err)
	}
	if p.vmFolder, err = finder.Folder(ctx, "/DC0/vm"); err != nil {
		t.Fatal(err)
	}
	if p.pool, err = finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources"); err != nil {
		t.Fatal(err)
	}
	if p.template, err = finder.VirtualMachine(ctx, "/DC0/vm/templates/"+Template); err != nil {
		t.Fatal(err)
	}
	return p
}

// machine describes a small virtual machine with a disk and a network card.
func machine(name string) types.VirtualMachineConfigSpec {
	spec := contentlibrary.Template(name, "LocalDS_0")
	spec.CpuHotAddEnabled, spec.MemoryHotAddEnabled = nil, nil
	return spec
}

func create(ctx context.Context, t *testing.T, c *govmomi.Client, p places, spec types.VirtualMachineConfigSpec) *object.VirtualMachine {
	t.Helper()
	task, err := p.folder.CreateVM(ctx, spec, p.pool, nil)
	if err != nil {
		t.Fatalf("create %s: %v", spec.Name, err)
	}
	info, err := task.WaitForResult(ctx)
	if err != nil {
		t.Fatalf("create %s: %v", spec.Name, err)
	}
	ref, ok := info.Result.(types.ManagedObjectReference)
	if !ok {
		t.Fatalf("create %s: the task returned %T", spec.Name, info.Result)
	}
	return object.NewVirtualMachine(c.Client, ref)
}

// wait ends the test unless the task succeeds.
func wait(ctx context.Context, t *testing.T, task *object.Task, err error) {
	t.Helper()
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns all properties of a virtual machine.
func read(ctx context.Context, t *testing.T, c *govmomi.Client, vm *object.VirtualMachine) mo.VirtualMachine {
	t.Helper()
	var out mo.VirtualMachine
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, vm.Reference(), nil, &out); err != nil {
		t.Fatalf("read %s: %v", vm.Reference(), err)
	}
	return out
}
