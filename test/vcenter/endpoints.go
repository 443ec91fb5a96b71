// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
	"github.com/slipway-dev/slipway/test/vcenter/inventory"
	"github.com/slipway-dev/slipway/test/vcenter/policies"
	"github.com/slipway-dev/slipway/test/vcenter/screen"
	"github.com/slipway-dev/slipway/test/vcenter/volumes"
)

// endpoints registers the simulator's endpoints as served at address, and
// returns the handler for all of them.
func (s *Server) endpoints(address string) (_ http.Handler, err error) {
	defer func() {
		// The simulator reports a port that it cannot open by a panic.
		if p := recover(); p != nil {
			err = fmt.Errorf("register the simulator's endpoints: %v", p)
		}
	}()
	service, registry := s.inv.Model.Service, s.inv.Model.Map()
	account := url.UserPassword(s.options.Username, s.options.Password)
	// The simulator registers its endpoints only together with a listener of its
	// own. That one is closed; the endpoints get the address that is served.
	service.Listen = &url.URL{Host: "127.0.0.1:0", User: account}
	service.NewServer().Close()
	service.Listen = &url.URL{Scheme: "https", Host: address, Path: registry.Path, User: account}
	registry.SessionManager().ServiceHostName = address
	registry.SessionManager().ValidLogin = s.validLogin

	policies, policyRegistry, err := policies.Install(registry, s.onRoot)
	if err != nil {
		return nil, fmt.Errorf("register the simulator's endpoints: %w", err)
	}
	service.RegisterSDK(policyRegistry)
	s.gate.Policies, s.policies = policies, policies
	if s.volumes = volumes.Install(service, s.gate, s.apiVersion, s.onRoot); s.volumes == nil {
		return nil, errors.New("register the simulator's endpoints: it has no volume service")
	}
	patterns, handler := vapi.New(service.Listen, registry)
	for _, pattern := range patterns {
		service.Handle(pattern, handler)
	}
	s.deployer = &contentlibrary.Deployer{
		Next: service.ServeMux, Registry: registry, Creator: s.gate, Datacenter: s.inv.Datacenter,
		Version: s.apiVersion,
	}
	s.deployer.DisksOnly(true)
	s.updates = &contentlibrary.Updates{Next: s.deployer, Deployer: s.deployer}
	s.captures = &contentlibrary.Captures{Next: s.updates, Registry: registry, Source: s.gate,
		Allowed: func(privilege string) bool { return s.onRoot(s.options.Username, privilege) }}
	s.screens = &screen.Screens{Next: s.captures, Registry: registry, Gate: s.gate, Sight: s.sight}
	return s.screens, nil
}

// onRoot reports whether an account has a privilege on the root folder.
func (s *Server) onRoot(account, privilege string) bool {
	return s.sight.Allowed(account, s.inv.Model.ServiceContent.RootFolder, privilege)
}

func (s *Server) apiVersion() string { return s.inv.Model.ServiceContent.About.ApiVersion }

// validLogin reports whether an account may log in, over SOAP and REST.
func (s *Server) validLogin(req *types.Login) bool {
	known, password := req.UserName == s.options.Username || req.UserName == OperatorUsername, s.options.Password
	if changed := s.password.Load(); changed != nil && req.UserName == s.options.Username {
		password = *changed
	}
	return s.front.Lockout.Admit(req.UserName, known && req.Password == password)
}

// SetPassword changes the password of the account, as an administrator of vCenter Single Sign-On does. That existing
// sessions continue is a judgement.
func (s *Server) SetPassword(password string) { s.password.Store(&password) }

// publish creates the content library through the service, as any client would.
func (s *Server) publish(ctx context.Context) error {
	u, err := soap.ParseURL(s.ready.URL)
	if err != nil {
		return fmt.Errorf("parse the service's URL: %w", err)
	}
	client := soap.NewClient(u, false)
	if err := client.SetRootCAs(s.trust); err != nil {
		return fmt.Errorf("trust the service's certificate: %w", err)
	}
	client.SetThumbprint(u.Host, s.ready.Thumbprint)
	vim, err := vim25.NewClient(ctx, client)
	if err != nil {
		return fmt.Errorf("connect to the service: %w", err)
	}
	account := url.UserPassword(s.options.Username, s.options.Password)
	library := rest.NewClient(vim)
	if err := library.Login(ctx, account); err != nil {
		return fmt.Errorf("log in to publish the content library: %w", err)
	}
	if err := contentlibrary.Publish(ctx, library, s.inv.Datastores[0]); err != nil {
		return err
	}
	return library.Logout(ctx)
}

func createRequest(inv *inventory.Inventory, spec types.VirtualMachineConfigSpec) *types.CreateVM_Task {
	return &types.CreateVM_Task{This: inv.TemplatesFolder, Pool: inv.Pool, Config: spec}
}

func markAsTemplate(vm *simulator.VirtualMachine) {
	vm.MarkAsTemplate(&types.MarkAsTemplate{This: vm.Self})
}

// home is the simulator's own temporary directory.
func home(model *simulator.Model) string {
	for _, o := range model.Map().OptionManager().Setting {
		if v := o.GetOptionValue(); v.Key == "vcsim.home" {
			if dir, ok := v.Value.(string); ok {
				return dir
			}
		}
	}
	return ""
}

// quiet is a logger for errors of clients, such as an interrupted handshake.
func quiet(ctx context.Context) *stdlog.Logger {
	return stdlog.New(logWriter{ctx}, "", 0)
}

type logWriter struct {
	ctx context.Context //nolint:containedctx // Write has no context, and the logger is in it
}

// Write logs one message at verbosity 4.
func (w logWriter) Write(p []byte) (int, error) {
	klog.FromContext(w.ctx).V(4).Info("Simulator: " + string(p))
	return len(p), nil
}
