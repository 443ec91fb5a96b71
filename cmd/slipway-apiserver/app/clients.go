// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/lease/fence"
)

// clients are those of the controllers: what they write waits until this process may act.
type clients struct {
	// own and hostConfig are the configurations of our own API and of the host cluster.
	own, hostConfig *rest.Config
	fence           *fence.Fence
	client          versioned.Interface
	host            kubernetes.Interface
	dynamic         dynamic.Interface
}

func newClients(d *controllerDeps) (*clients, error) {
	c := &clients{fence: d.leases.Fence(controllersLease)} // of what no other one is for
	c.own = protobufConfig(d.loopback)
	c.own.Wrap(c.fence.Transport)
	c.hostConfig = rest.CopyConfig(d.hostConfig)
	c.hostConfig.Wrap(c.fence.Transport)
	var err error
	if c.client, err = versioned.NewForConfig(c.own); err != nil {
		return nil, fmt.Errorf("making the client of our own API: %w", err)
	}
	if c.host, err = kubernetes.NewForConfig(c.hostConfig); err != nil {
		return nil, fmt.Errorf("making the controllers' client of the host cluster: %w", err)
	}
	c.host = d.options.limitSecrets(c.host)
	if c.dynamic, err = dynamic.NewForConfig(c.hostConfig); err != nil {
		return nil, fmt.Errorf("making the client of other kinds of the host cluster: %w", err)
	}
	return c, nil
}
