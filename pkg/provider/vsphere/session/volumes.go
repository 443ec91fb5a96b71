// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/cns"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// VolumeClients contains clients of vCenter's volume service (CNS). They use the current SOAP session and may
// fail after it ends, so do not retain them for longer than one operation.
type VolumeClients struct {
	// Service sends calls to the volume service.
	Service soap.RoundTripper
	// Tasks reads the tasks that those calls create. The task results are types of the service's
	// own namespace, which other clients cannot decode (vmware/govmomi, cns.NewClient).
	Tasks *vim25.Client
}

// VolumeClients returns the clients of the volume service. Their calls count towards Options.MaxCalls.
func (s *Session) VolumeClients(ctx context.Context) (*VolumeClients, error) {
	vim, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	version, err := s.readVolumesVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the version of the volume service of vCenter %s: %w", s.url.Host, err)
	}
	client := func(path string) *soap.Client {
		c := s.soap.NewServiceClient(path, cns.Namespace)
		c.Transport = statusTransport{s.soap.DefaultTransport()}
		c.Version = version
		return c
	}
	service, tasks := client(cns.Path), client(s.url.Path)
	return &VolumeClients{
		Service: &transport{s: s, next: service, ownVersion: true},
		Tasks:   &vim25.Client{Client: tasks, ServiceContent: vim.ServiceContent, RoundTripper: &transport{s: s, next: tasks, ownVersion: true}},
	}, nil
}

// readVolumesVersion returns the version of the volume service. It reads the version once per login.
func (s *Session) readVolumesVersion(ctx context.Context) (string, error) {
	s.mu.Lock()
	version, of, number := s.volumesAPIVersion, s.volumesLogin, s.loginCount
	s.mu.Unlock()
	if version != "" && of == number {
		return version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	version, err := s.newestVersion(ctx, cns.Namespace, cns.Namespace)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.volumesAPIVersion, s.volumesLogin = version, number
	return version, nil
}
