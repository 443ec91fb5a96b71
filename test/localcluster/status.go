// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

// Status is the externally visible state of an environment.
type Status struct {
	// PID is the process that runs the environment, or 0 if none does.
	PID int
	// Servers are all servers, by name.
	Servers []ServerStatus
	// APIs is empty if the API of Slipway is served through kube-apiserver. Otherwise it is the reason.
	APIs string
}

// ServerStatus is one server of the environment.
type ServerStatus struct {
	// Name is one of the Port constants.
	Name string
	// Address is host and port.
	Address string
	// Listening reports whether a connection was accepted.
	Listening bool
}

// Missing lists the failing components: servers that do not listen, and the API.
func (s Status) Missing() []string {
	var missing []string
	for _, server := range s.Servers {
		if !server.Listening {
			missing = append(missing, server.Name+" does not listen")
		}
	}
	if s.APIs != "" {
		missing = append(missing, s.APIs)
	}
	return missing
}

// dialTimeout is sufficient for the loopback interface.
const dialTimeout = time.Second

// Inspect checks the environment of dataDirectory, which may belong to another process.
func Inspect(ctx context.Context, dataDirectory string) (Status, error) {
	pid, err := Running(dataDirectory)
	if err != nil || pid == 0 {
		return Status{}, err
	}
	s := Status{PID: pid}
	kept, err := ports.Read(dataDir(dataDirectory).ports())
	if err != nil {
		return s, err
	}
	for name := range kept {
		s.Servers = append(s.Servers, ServerStatus{
			Name: name, Address: kept.Address(name), Listening: listening(ctx, kept.Address(name)),
		})
	}
	slices.SortFunc(s.Servers, func(a, b ServerStatus) int {
		return slices.Index(startOrder, a.Name) - slices.Index(startOrder, b.Name)
	})
	config, err := clientcmd.BuildConfigFromFlags("", AdminKubeconfig(dataDirectory))
	if err != nil {
		return s, fmt.Errorf("reading the kubeconfig of the environment: %w", err)
	}
	objects, err := deployment(nil, 0)
	if err != nil {
		return s, err
	}
	if err := available(ctx, config, apiServices(objects)); err != nil {
		s.APIs = err.Error()
	}
	return s, nil
}

// startOrder is the order in which servers are listed.
var startOrder = []string{PortKubeAPIServer, PortKubeControllerManager, PortVCenter, PortSlipwayAPIServer}

func listening(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
