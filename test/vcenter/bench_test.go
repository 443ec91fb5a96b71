// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// fleet contains the values with which the benchmark deploys.
type fleet struct {
	client *vim25.Client
	rest   *rest.Client
	item   string
	target vcenter.Target
}

func newFleet(ctx context.Context, s *Server) (*fleet, error) {
	u, err := soap.ParseURL(s.Ready().URL)
	if err != nil {
		return nil, err
	}
	transport := soap.NewClient(u, false)
	if err := transport.SetRootCAs(s.Ready().CAFile); err != nil {
		return nil, err
	}
	f := &fleet{}
	if f.client, err = vim25.NewClient(ctx, transport); err != nil {
		return nil, err
	}
	f.rest = rest.NewClient(f.client)
	if err := errors.Join(session.NewManager(f.client).Login(ctx, account()), f.rest.Login(ctx, account())); err != nil {
		return nil, err
	}
	items, err := library.NewManager(f.rest).FindLibraryItems(ctx, library.FindItem{Name: contentlibrary.Item})
	if err != nil || len(items) != 1 {
		return nil, fmt.Errorf("items named %s: %v, %w", contentlibrary.Item, items, err)
	}
	f.item = items[0]
	f.target = vcenter.Target{ResourcePoolID: s.inv.Pool.Value, FolderID: s.inv.VMFolder.Value}
	return f, nil
}

func (f *fleet) deployAndPowerOn(ctx context.Context, name string) error {
	ref, err := vcenter.NewManager(f.rest).DeployLibraryItem(ctx, f.item, vcenter.Deploy{
		DeploymentSpec: vcenter.DeploymentSpec{Name: name}, Target: f.target,
	})
	if err != nil {
		return err
	}
	_, err = object.NewVirtualMachine(f.client, *ref).PowerOn(ctx)
	return err
}

// awaitAddresses follows a property stream until n machines have an address.
func (f *fleet) awaitAddresses(ctx context.Context, n int) error {
	v, err := view.NewManager(f.client).CreateContainerView(ctx, f.client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return err
	}
	filter := new(property.WaitFilter).Add(v.Reference(), "VirtualMachine", []string{"guest.ipAddress"}, v.TraversalSpec())
	m := mirror{}
	return property.WaitForUpdates(ctx, property.DefaultCollector(f.client), filter, func(updates []types.ObjectUpdate) bool {
		m.apply(updates)
		have := 0
		for _, values := range m {
			if ip, _ := values["guest.ipAddress"].(string); ip != "" {
				have++
			}
		}
		return have == n
	})
}

// BenchmarkDeployAndPowerOn measures the time from a deployment out of the library to an address that a property stream
// reports, with twelve virtual machines at a time. It also measures how long the server then takes to stop.
func BenchmarkDeployAndPowerOn(b *testing.B) {
	ctx := context.Background()
	s, err := Start(ctx, Options{StateDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	f, err := newFleet(ctx, s)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	start := time.Now()
	names := make(chan int)
	var workers sync.WaitGroup
	for range 12 {
		workers.Go(func() {
			for n := range names {
				if err := f.deployAndPowerOn(ctx, fmt.Sprintf("vm-%d", n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	go func() {
		for n := range b.N {
			names <- n
		}
		close(names)
	}()
	err = f.awaitAddresses(ctx, b.N)
	workers.Wait()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "machines/s")
	b.StopTimer()

	stopping := time.Now()
	if err := s.Stop(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(stopping).Seconds(), "stop-s")
}
