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

// DefaultCreationsPerMinute is more than vCenter usually clones for one cluster: a full copy of a
// disk takes minutes, and few run at a time.
const DefaultCreationsPerMinute = 30

const (
	// quickly is the number of Machines that the sets of a namespace create without a pause.
	quickly = 100
	// together is the number of Machines that a set waits for after that: one at a time
	// would be a status of the set for each.
	together = 10
	// pacedNamespaces is the number of namespaces whose creations are remembered.
	pacedNamespaces = 10000
)

// pace limits how fast the sets of a namespace create Machines.
type pace struct {
	perMinute int
	mu        sync.Mutex
	// limiters has the *rate.Limiter of each namespace.
	limiters *lru.Cache
}

func newPace(perMinute int) *pace {
	return &pace{perMinute: perMinute, limiters: lru.New(pacedNamespaces)}
}

// wait returns 0 if a Machine of the namespace can be created now, or the time until some can.
func (p *pace) wait(namespace string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.limiters.Get(namespace)
	if !ok {
		found = rate.NewLimiter(rate.Limit(float64(p.perMinute)/60), quickly)
		p.limiters.Add(namespace, found)
	}
	limiter := found.(*rate.Limiter)
	if limiter.AllowN(now, 1) {
		return 0
	}
	missing := together - limiter.TokensAt(now)
	return time.Duration(missing / float64(limiter.Limit()) * float64(time.Second))
}

// String says what the limit is.
func (p *pace) String() string {
	return fmt.Sprintf("after %d Machines in quick succession, the MachineSets of a namespace create %d per minute", quickly, p.perMinute)
}
