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

// Volumes are clients of vCenter's volume service (CNS), in the session of the login. Who
// uses them for longer than one operation may find that the session has ended.
type Volumes struct {
	// Service takes the calls of the volume service.
	Service soap.RoundTripper
	// Tasks reads the tasks that the calls begin. Their results are objects of the
	// service, which vCenter tells in the service's own namespace only, so that nobody
	// else must wait for them (vmware/govmomi, cns.NewClient).
	Tasks *vim25.Client
}

// Volumes returns the clients. Their calls are bounded and counted as all are.
func (s *Session) Volumes(ctx context.Context) (*Volumes, error) {
	vim, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	version, err := s.volumesVersion(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking vCenter %s for the version of its volume service: %w", s.url.Host, err)
	}
	client := func(path string) *soap.Client {
		c := s.soap.NewServiceClient(path, cns.Namespace)
		c.Transport = statusTransport{s.soap.DefaultTransport()}
		c.Version = version
		return c
	}
	service, tasks := client(cns.Path), client(s.url.Path)
	return &Volumes{
		Service: &transport{s: s, next: service, other: true},
		Tasks:   &vim25.Client{Client: tasks, ServiceContent: vim.ServiceContent, RoundTripper: &transport{s: s, next: tasks, other: true}},
	}, nil
}

// volumesVersion asks once for each login.
func (s *Session) volumesVersion(ctx context.Context) (string, error) {
	s.mu.Lock()
	version, of, number := s.volumes, s.volumesOf, s.number
	s.mu.Unlock()
	if version != "" && of == number {
		return version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	version, err := s.newest(ctx, cns.Namespace, cns.Namespace)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.volumes, s.volumesOf = version, number
	return version, nil
}
