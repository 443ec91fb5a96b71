// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// DefaultCreationsPerMinute is higher than the usual clone rate of vCenter for one cluster: a full copy of a disk takes
// minutes, and few copies run concurrently.
const DefaultCreationsPerMinute = 30

const (
	// creationBurst is the number of Machines that the MachineSets of a namespace create without delay.
	creationBurst = 100
	// creationBatch is the number of Machines that are created at a time after that. Creating them singly would cause a
	// status update for each.
	creationBatch = 10
	// maxLimiters is the maximum number of namespaces with a cached rate limiter.
	maxLimiters = 10000
)

// creationLimits limits the rate at which the MachineSets of a namespace create Machines.
type creationLimits struct {
	perMinute int
	mu        sync.Mutex
	// limiters maps a namespace to its *rate.Limiter.
	limiters *lru.Cache
}

func newCreationLimits(perMinute int) *creationLimits {
	return &creationLimits{perMinute: perMinute, limiters: lru.New(maxLimiters)}
}

// take takes a token for one Machine and returns 0. If there is no token, it returns the delay until the next batch of
// Machines may be created.
func (p *creationLimits) take(namespace string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.limiters.Get(namespace)
	if !ok {
		found = rate.NewLimiter(rate.Limit(float64(p.perMinute)/60), creationBurst)
		p.limiters.Add(namespace, found)
	}
	limiter := found.(*rate.Limiter)
	if limiter.AllowN(now, 1) {
		return 0
	}
	missing := creationBatch - limiter.TokensAt(now)
	return time.Duration(missing / float64(limiter.Limit()) * float64(time.Second))
}

// String describes the limit.
func (p *creationLimits) String() string {
	return fmt.Sprintf("after %d Machines in quick succession, the MachineSets of a namespace create %d per minute", creationBurst, p.perMinute)
}
