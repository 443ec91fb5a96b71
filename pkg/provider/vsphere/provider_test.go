// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// settings are the settings of the driver and the engine.
type settings struct {
	Config
	engine.Options
}

// Provider is an engine with this driver. Like a controller, it writes the results to the status of
// the request.
type Provider struct {
	*engine.Engine
	driver    *Driver
	inventory *inventory.Inventory
	resolver  *placement.Resolver
	// restore restores the object from the record of the snapshot that its VM was reverted to, like the
	// controller. If it is nil, the object is not restored.
	restore func(*provider.Request, *provider.StoredSnapshotRecord)
}

// newProvider returns a provider that does nothing before it runs.
func newProvider(t *testing.T, s settings) *Provider {
	t.Helper()
	d, err := New(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	s.Driver = d
	return &Provider{Engine: engine.New(s.Options), driver: d, inventory: d.inventory, resolver: d.resolver(vmv1alpha1.DefaultZone)}
}

// CreateOrUpdateVirtualMachineAsync reconciles req. It returns a channel with the result of a
// started operation.
func (p *Provider) CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *provider.Request) (<-chan error, error) {
	r, err := p.Engine.CreateOrUpdateVirtualMachineAsync(ctx, req)
	r.Apply(&req.VM.Status, req.VM.Generation, req.Now)
	if r.Reverted != nil && p.restore != nil {
		p.restore(req, r.Reverted)
	}
	return r.Ended, err
}

// DeleteVirtualMachine returns nil when the VM no longer exists.
func (p *Provider) DeleteVirtualMachine(ctx context.Context, req *provider.Request) error {
	r, err := p.Engine.DeleteVirtualMachine(ctx, req)
	r.Apply(&req.VM.Status, req.VM.Generation, req.Now)
	return err
}

// record returns the state of a VM in the inventory, or nil.
func (p *Provider) record(uniqueID, instanceUUID string) *mo.VirtualMachine {
	return p.inventory.Find(inventory.Identifiers{UniqueID: uniqueID, InstanceUUID: instanceUUID}).VM
}

// startProvider starts a provider that stops at the end of the test.
func startProvider(t *testing.T, ready vcenter.Ready, change func(*settings)) (*Provider, *calls) {
	t.Helper()
	counted := &calls{}
	s := settings{Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway",
		Networks: []string{Any}, HostDevices: []string{Any},
		OnCall: counted.count, MaxWait: 5, Owner: "a",
	}, Options: engine.Options{MissingGrace: 300 * time.Millisecond, RecordPause: time.Nanosecond}}
	if change != nil {
		change(&s)
	}
	p := newProvider(t, s)
	run(t, p)
	return p, counted
}

// run runs p until the end of the test, or until stop is called.
func run(t *testing.T, p *Provider) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return stop
}

func keyOf(req *provider.Request) types.NamespacedName { return provider.KeyOf(req.VM).NamespacedName }
