// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// VisitTimeout bounds a visit, all its requests together. The longest has ten seconds of reading and ten of
// evictions.
const VisitTimeout = 20 * time.Second

// maxVisits is how many visits of one cluster there are at once: one that answers slowly keeps so
// many workers and leaves the others to other clusters.
const maxVisits = 4

// ErrBusy is what errors.Is finds when a cluster has as many visits as it may have.
var ErrBusy = errors.New("there are as many visits as there may be")

// Visit begins what a caller does in a cluster by many requests. They get the context that it
// returns, which ends after VisitTimeout; done is called in any case. It never waits: while
// others have all places it returns an error for which errors.Is finds ErrBusy.
func (c *Connection) Visit(ctx context.Context) (visit context.Context, done func(), err error) {
	select {
	case c.visits <- struct{}{}:
	default:
		return nil, nil, fmt.Errorf("visiting workload cluster %s: %w", c.cluster, ErrBusy)
	}
	visit, cancel := context.WithTimeout(ctx, VisitTimeout)
	return visit, func() { cancel(); <-c.visits }, nil
}
