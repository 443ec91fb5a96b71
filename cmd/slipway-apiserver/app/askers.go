// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// askers are connections to vCenters that other replicas take care of. The replica that
// chooses zones, and describes images, asks by them what there is, and each asks for
// consoles; nothing is changed by them.
type askers struct {
	used *vcenters

	mu     sync.Mutex
	byName map[string]*asker
	closed bool
}

// asker is one connection, to what a description says.
type asker struct {
	driver      *vsphere.Driver
	description string
	stop        func()
}

// of returns the driver to ask a vCenter by.
func (a *askers) of(ctx context.Context, name string) (*vsphere.Driver, error) {
	obj, err := a.used.zones.vcenters.Get(name)
	if apierrors.IsNotFound(err) {
		obj, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading VCenter %s: %w", name, err)
	}
	description, err := a.used.describe(name, obj)
	switch {
	case err != nil:
		return nil, err
	case description == "":
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("there is no VCenter %q", name), Missing: true}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if was := a.byName[name]; was != nil && was.description == description {
		return was.driver, nil
	}
	a.end(name)
	if a.closed {
		return nil, context.Canceled
	}
	config, err := a.used.config(obj)
	if err != nil {
		return nil, err
	}
	config.Permit = a.used.deps.leases.Fence(controllersLease)
	driver, err := vsphere.New(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to vCenter %s: %w", config.URL, err)
	}
	driver.SetZones(a.used.zones.in(name))
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() { driver.Keep(keeping) })
	a.byName[name] = &asker{driver: driver, description: description, stop: func() { stop(); ended.Wait() }}
	return driver, nil
}

// end ends the connection to a vCenter, if there is one. mu is held.
func (a *askers) end(name string) {
	if was := a.byName[name]; was != nil {
		was.stop()
		delete(a.byName, name)
	}
}

// leave ends the connection to a vCenter that this replica takes care of now, or nobody.
func (a *askers) leave(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(name)
}

// follow tells all of their zones.
func (a *askers) follow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, one := range a.byName {
		one.driver.SetZones(a.used.zones.in(name))
	}
}

// close ends all, when ctx is done.
func (a *askers) close(ctx context.Context) {
	<-ctx.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for name := range a.byName {
		a.end(name)
	}
}
