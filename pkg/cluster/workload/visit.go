// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// VisitTimeout is the timeout of all requests of a visit together. The longest visit reads for 10 seconds and evicts
// for 10 seconds.
const VisitTimeout = 20 * time.Second

// maxVisits is the maximum number of concurrent visits of a cluster. It keeps a slow cluster from occupying all
// workers.
const maxVisits = 4

// ErrBusy is returned when a cluster has reached its maximum number of visits, or all list slots are in use.
var ErrBusy = errors.New("too many concurrent operations; will retry")

// Visit starts a series of requests of a caller. The requests must use the returned context, which ends after
// VisitTimeout. The caller must call done. Visit does not wait: if the maximum number of visits is reached, it returns
// an error that wraps ErrBusy.
func (c *Connection) Visit(ctx context.Context) (visit context.Context, done func(), err error) {
	select {
	case c.visits <- struct{}{}:
	default:
		return nil, nil, fmt.Errorf("accessing workload cluster %s: %w", c.cluster, ErrBusy)
	}
	visit, cancel := context.WithTimeout(ctx, VisitTimeout)
	return visit, func() { cancel(); <-c.visits }, nil
}
