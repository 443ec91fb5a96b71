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
	// Client sends requests, each of which is bounded in time.
	Client() kubernetes.Interface
	// Visit bounds all that a pass does there. With an error for which errors.Is finds
	// workload.ErrBusy others must end first.
	Visit(ctx context.Context) (visit context.Context, done func(), err error)
	// ListSlot returns a slot for lists, which done returns. With an error for which errors.Is finds
	// workload.ErrBusy others must return theirs first.
	ListSlot() (done func(), err error)
	// Nodes returns the Nodes of a provider ID from memory. name is that of the Node, if it is known. With an error
	// for which errors.Is finds workload.ErrReading they are being read.
	Nodes(providerID, name string) ([]*workload.Node, error)
}

// Workloads are the workload clusters. None of its methods waits.
type Workloads interface {
	// Connection returns the connection to the cluster of a Cluster, or an error for which
	// errors.Is finds workload.ErrNotConnected, and then one is made.
	Connection(cluster types.NamespacedName) (Workload, error)
	// Probe tells when the cluster has last answered, and how often it has not since.
	Probe(cluster types.NamespacedName) (success time.Time, failures int)
}

// ErrNotRequested is returned while the infrastructure of a Cluster is not provisioned.
var ErrNotRequested = errors.New("there is no connection to the workload cluster before the infrastructure of the Cluster is provisioned")

// IsNotConnected reports whether err ends when there is a connection again, which is an event.
func IsNotConnected(err error) bool {
	return errors.Is(err, workload.ErrNotConnected) || errors.Is(err, ErrNotRequested)
}
