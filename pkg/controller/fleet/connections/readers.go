// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// readers has read-only connections to the vCenters of other replicas. The replica that chooses zones and describes images uses
// them. Every replica uses them for consoles.
type readers struct {
	manager *Manager

	mu     sync.Mutex
	byName map[string]*reader
	closed bool
}

// reader is a read-only connection.
type reader struct {
	driver      *vsphere.Driver
	description string
	stop        func()
}

// of returns the driver for reading a vCenter.
func (r *readers) of(ctx context.Context, name string) (*vsphere.Driver, error) {
	obj, err := r.manager.zones.vcenters.Get(name)
	if apierrors.IsNotFound(err) {
		obj, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading VCenter %s: %w", name, err)
	}
	description, err := r.manager.describe(name, obj)
	switch {
	case err != nil:
		return nil, err
	case description == "":
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("there is no VCenter %q", name), Missing: true}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.byName[name]; open != nil && open.description == description {
		return open.driver, nil
	}
	r.end(name)
	if r.closed {
		return nil, context.Canceled
	}
	config := r.manager.config(obj)
	config.Permit = r.manager.leases.Fence(ControllersLease)
	driver, err := vsphere.New(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to vCenter %s: %w", config.URL, err)
	}
	driver.SetZones(r.manager.zones.in(name))
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { driver.KeepConnection(running) })
	r.byName[name] = &reader{driver: driver, description: description, stop: func() { stop(); ended.Wait() }}
	return driver, nil
}

// end closes the connection to a vCenter, if there is one. mu is held.
func (r *readers) end(name string) {
	if open := r.byName[name]; open != nil {
		open.stop()
		delete(r.byName, name)
	}
}

// leave closes the connection to a vCenter that this replica manages from now on, or that is removed.
func (r *readers) leave(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(name)
}

// updateZones sets the current zones on all drivers.
func (r *readers) updateZones() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, one := range r.byName {
		one.driver.SetZones(r.manager.zones.in(name))
	}
}

// close closes all connections when ctx is done.
func (r *readers) close(ctx context.Context) {
	<-ctx.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for name := range r.byName {
		r.end(name)
	}
}
