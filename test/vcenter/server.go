// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
	"github.com/slipway-dev/slipway/test/vcenter/datastores"
	"github.com/slipway-dev/slipway/test/vcenter/events"
	"github.com/slipway-dev/slipway/test/vcenter/fastcollector"
	"github.com/slipway-dev/slipway/test/vcenter/front"
	"github.com/slipway-dev/slipway/test/vcenter/guest"
	"github.com/slipway-dev/slipway/test/vcenter/inventory"
	"github.com/slipway-dev/slipway/test/vcenter/policies"
	"github.com/slipway-dev/slipway/test/vcenter/saved"
	"github.com/slipway-dev/slipway/test/vcenter/screen"
	"github.com/slipway-dev/slipway/test/vcenter/sight"
	"github.com/slipway-dev/slipway/test/vcenter/strict"
	"github.com/slipway-dev/slipway/test/vcenter/usage"
	"github.com/slipway-dev/slipway/test/vcenter/volumes"
)

const (
	filesPattern = "slipway-vcenter-*"
	// shared is a file system in memory on Linux.
	shared = "/dev/shm"
	// stopGrace is the time limit for running requests at shutdown.
	stopGrace = 300 * time.Millisecond
)

// Server is a running simulated vCenter.
type Server struct {
	options  Options
	ready    Ready
	trust    string // file with the certificate that clients trust
	filesDir string
	inv      *inventory.Inventory
	sight    *sight.Sight
	hub      *fastcollector.Hub
	guests   *guest.Guests
	usage    *usage.Keeper
	gate     *strict.Gate
	events   *events.Events
	files    *datastores.Datastores
	keeper   *saved.Keeper // nil without a state directory
	front    *front.Front
	delays   *front.TaskDelays
	deployer *contentlibrary.Deployer
	updates  *contentlibrary.Updates
	captures *contentlibrary.Captures
	screens  *screen.Screens
	volumes  *volumes.Service
	policies *policies.Service
	service  *http.Server
	control  *http.Server
	// password is the current password of the account, or nil for that of the options.
	password atomic.Pointer[string]
}

// Start starts a simulated vCenter. It must be stopped.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	s := &Server{options: o}
	defer func() {
		if err != nil {
			s.discard()
		}
	}()
	if err = s.build(ctx); err != nil {
		return nil, err
	}
	if err = s.serve(ctx); err != nil {
		return nil, err
	}
	if err = s.publish(ctx); err != nil {
		return nil, err
	}
	if o.StateDir != "" {
		s.keeper = saved.Keep(ctx, s.inv.Model.Map(), s.save)
	}
	if o.ReadyFile != "" {
		if err = s.ready.write(o.ReadyFile); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Ready returns the connection data of the service.
func (s *Server) Ready() Ready { return s.ready }

// Front is the handler in front of the service that counts calls and injects failures.
func (s *Server) Front() *front.Front { return s.front }

// Events changes virtual machines as other clients do.
func (s *Server) Events() *events.Events { return s.events }

// TaskDelays sets how long tasks take.
func (s *Server) TaskDelays() *front.TaskDelays { return s.delays }

// Guests are the guests of the virtual machines.
func (s *Server) Guests() *guest.Guests { return s.guests }

// Deployer answers deployments from the content library.
func (s *Server) Deployer() *contentlibrary.Deployer { return s.deployer }

// Updates answers uploads into the content library.
func (s *Server) Updates() *contentlibrary.Updates { return s.updates }

// Volumes is the volume service.
func (s *Server) Volumes() *volumes.Service { return s.volumes }

// Registry holds the objects of the inventory, for tests that look behind the service.
func (s *Server) Registry() *simulator.Registry { return s.inv.Model.Map() }

// build creates or restores the inventory and installs the extensions.
func (s *Server) build(ctx context.Context) (err error) {
	state := s.options.StateDir
	if state != "" {
		if err := os.MkdirAll(state, 0o700); err != nil {
			return fmt.Errorf("create --state-dir: %w", err)
		}
		if err := removeLeftovers(state); err != nil {
			return err
		}
	}
	parent := ""
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		parent = shared
	}
	if s.filesDir, err = os.MkdirTemp(parent, filesPattern); err != nil {
		return fmt.Errorf("create the directory of the datastores: %w", err)
	}
	if s.inv, err = inventory.Build(ctx, s.filesDir, s.options.APIVersion, s.options.Clusters); err != nil {
		return err
	}
	registry := s.inv.Model.Map()
	restored := false
	if state != "" {
		if err := writeRun(state, s.filesDir, home(s.inv.Model)); err != nil {
			return err
		}
		if restored, err = saved.Restore(state, s.filesDir, s.inv); err != nil {
			return err
		}
	}
	s.sight = sight.New(registry)
	registry.AddHandler(s.sight)
	s.hub = fastcollector.Install(registry, s.inv.Model.ServiceContent.PropertyCollector, s.sight)
	s.guests = guest.Install(registry, s.options.GuestBootDelay)
	s.guests.CloudInit(true)
	s.files = datastores.New(registry)
	s.gate = strict.Install(registry, s.guests, s.sight, strict.Handlers{
		"FileManager": s.files, "VirtualDiskManager": s.files, "DatastoreNamespaceManager": s.files, "HostDatastoreBrowser": s.files,
		"AuthorizationManager": sight.NewAuthority(s.sight), "SearchIndex": sight.NewSearch(s.sight), "ViewManager": s.hub,
	})
	s.gate.Importer = s.options.Username
	s.delays = front.NewTaskDelays(s.gate)
	s.events = events.New(registry, s.sight, s.gate, s.options.Username)
	s.usage = usage.Install(strict.Acting(registry))
	if restored {
		return nil
	}
	if err := s.makeTemplate(ctx); err != nil || !s.options.ForeignVMs {
		return err
	}
	return s.makeForeignVMs(ctx)
}

// makeTemplate adds the template virtual machine.
func (s *Server) makeTemplate(ctx context.Context) error {
	registry := s.inv.Model.Map()
	datastore, ok := registry.Get(s.inv.Datastores[0]).(*simulator.Datastore)
	if !ok {
		return errors.New("the simulated inventory has no datastore")
	}
	ref, err := s.gate.NewVM(ctx, registry, createRequest(s.inv, contentlibrary.Template(Template, datastore.Name)))
	if err != nil {
		return fmt.Errorf("create template %s: %w", Template, err)
	}
	vm, ok := registry.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return fmt.Errorf("create template %s: %s does not exist", Template, ref)
	}
	sim := &simulator.Context{Context: ctx, Map: registry}
	sim.WithLock(vm, func() { markAsTemplate(vm) })
	return nil
}

// serve listens. The simulator's own server is only needed to register the
// endpoints; requests are served by one that can be stopped.
func (s *Server) serve(ctx context.Context) error {
	o := s.options
	pair, caFile, err := certificate(o, time.Now())
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen on --listen %s: %w", o.Listen, err)
	}
	handler, err := s.endpoints(listener.Addr().String())
	if err != nil {
		_ = listener.Close()
		return err
	}
	s.front = front.New(handler, s.inv.Model.Map(), s.hub, s.apiVersion)
	// Versions of the API are not checked: most clients send one that is too new, and vCenter accepts that of a login
	// with a password.
	s.front.Lockout.Enable(true)
	s.service = &http.Server{
		Handler: s.front, ConnState: s.front.Track, ErrorLog: quiet(ctx),
		ReadHeaderTimeout: time.Minute,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
	run(ctx, func() error { return s.service.ServeTLS(listener, "", "") })
	s.ready = Ready{
		URL:        (&url.URL{Scheme: "https", Host: listener.Addr().String(), Path: "/sdk"}).String(),
		Thumbprint: thumbprint(pair),
	}
	if s.trust = caFile; o.CertFile == "" {
		s.ready.CAFile = caFile
	}
	if o.ControlListen == "" {
		return nil
	}
	controls, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.ControlListen)
	if err != nil {
		return fmt.Errorf("listen on --control-listen %s: %w", o.ControlListen, err)
	}
	s.control = &http.Server{
		Handler:           front.Control(s.front, s.delays, s.events, s, s.volumes, s.policies, s.updates, s.captures, s.files, s.screens),
		ReadHeaderTimeout: time.Minute,
	}
	run(ctx, func() error { return s.control.Serve(controls) })
	s.ready.ControlURL = "http://" + controls.Addr().String()
	return nil
}

// run serves in the background.
func run(ctx context.Context, serve func() error) {
	go func() {
		if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			klog.FromContext(ctx).Error(err, "The simulated vCenter has stopped serving")
		}
	}()
}

// Stop ends all waits, stops serving and saves the inventory.
func (s *Server) Stop(ctx context.Context) error {
	s.hub.Close()
	s.guests.Close()
	grace, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for _, server := range []*http.Server{s.control, s.service} {
		if server == nil {
			continue
		}
		if err := server.Shutdown(grace); err != nil {
			_ = server.Close() // remaining connections are closed
		}
	}
	var err error
	if s.keeper != nil {
		s.keeper.Close()
		s.keeper = nil
		err = s.save()
	}
	if s.options.ReadyFile != "" {
		_ = os.Remove(s.options.ReadyFile)
	}
	s.discard()
	return err
}

func (s *Server) save() error { return saved.Save(s.options.StateDir, s.filesDir, s.inv) }

// discard closes open resources and removes the directories of the run.
func (s *Server) discard() {
	if s.keeper != nil {
		s.keeper.Close()
		s.keeper = nil
	}
	for _, server := range []*http.Server{s.control, s.service} {
		if server != nil {
			_ = server.Close()
		}
	}
	if s.usage != nil {
		s.usage.Close()
		s.usage = nil
	}
	if s.inv != nil {
		s.inv.Model.Remove()
	}
	if s.filesDir != "" {
		_ = os.RemoveAll(s.filesDir)
	}
	if state := s.options.StateDir; state != "" {
		_ = os.Remove(filepath.Join(state, runFile))
	}
}
