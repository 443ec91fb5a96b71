// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/cluster/workload"
)

// Workload is a connection to a workload cluster.
type Workload interface {
	// Client returns a client whose requests have a timeout.
	Client() kubernetes.Interface
	// Visit starts a series of requests, which must use the returned context. It returns an error that wraps
	// workload.ErrBusy if the maximum number of visits is reached.
	Visit(ctx context.Context) (visit context.Context, done func(), err error)
	// ListSlot reserves a slot for lists. done releases the slot. It returns an error that wraps workload.ErrBusy if no
	// slot is free.
	ListSlot() (done func(), err error)
	// Nodes returns the cached Nodes with a provider ID. name is the name of the Node, if known. It returns an error
	// that wraps workload.ErrReading while they are being read.
	Nodes(providerID, name string) ([]*workload.Node, error)
}

// Workloads are the workload clusters. Its methods do not block.
type Workloads interface {
	// Connection returns the connection to a Cluster. If there is none, it requests one and returns an error that wraps
	// workload.ErrNotConnected.
	Connection(cluster types.NamespacedName) (Workload, error)
	// Probe returns the time of the last successful probe, and the number of failures since then.
	Probe(cluster types.NamespacedName) (success time.Time, failures int)
}

// ErrNotRequested is returned while the infrastructure of a Cluster is not provisioned.
var ErrNotRequested = errors.New("not connecting to the workload cluster, because the infrastructure of the Cluster is not provisioned yet")

// IsNotConnected reports whether err means that there is no connection. A new connection is an event.
func IsNotConnected(err error) bool {
	return errors.Is(err, workload.ErrNotConnected) || errors.Is(err, ErrNotRequested)
}
