// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// class is a group of operation kinds that share a limit.
type class string

const (
	creates          class = "creates"
	reconfigurations class = "reconfigurations"
	powerChanges     class = "power changes"
	deletes          class = "deletes"
	publishes        class = "publishes"
	promotions       class = "promotions"
	snapshots        class = "snapshots"
	imageCopies      class = "image copies"
)

// classOf returns the class of an operation. It is empty for operations without a limit: those that only read or wait
// for a guest.
func classOf(op *driver.Operation) class {
	switch op.Kind {
	case driver.KindCreate:
		return creates
	case driver.KindReconfigure:
		return reconfigurations
	case driver.KindDelete, driver.KindRemoveImage:
		return deletes
	case driver.KindPromote:
		return promotions
	case driver.KindPowerOn, driver.KindPowerOff, driver.KindSuspend, driver.KindRestart:
		if !op.WaitsForGuest {
			return powerChanges
		}
	case driver.KindPublish:
		return publishes
	case driver.KindSnapshot, driver.KindRemoveSnapshot, driver.KindRevert:
		return snapshots
	case driver.KindCopyImage:
		return imageCopies
	case driver.KindCheck, driver.KindSearch, driver.KindWithdraw, driver.KindCollectImages:
	}
	return ""
}

// slotPool is the slot pool of one class. It has no lock and no clock.
type slotPool struct {
	total   int
	timeout time.Duration
	used    int
	// byNamespace is the number of used or offered slots by namespace.
	byNamespace map[string]int
	// queue is the queue of the objects that found no free slot, in the order in which slots are offered to them.
	queue  *priorityqueue.Queue[provider.Key]
	offers map[provider.Key]time.Time
}

func newSlotPools(l Limits, timeout time.Duration) map[class]*slotPool {
	out := map[class]*slotPool{}
	for _, c := range []struct {
		class            class
		limit, byDefault int
	}{
		{creates, l.Creates, 12},
		{reconfigurations, l.Reconfigurations, 32},
		{powerChanges, l.PowerChanges, 32},
		{deletes, l.Deletes, 32},
		{publishes, l.Publishes, 4},
		{promotions, l.Promotions, 4},
		{snapshots, l.Snapshots, 8},
		{imageCopies, l.ImageCopies, 4},
	} {
		if c.limit <= 0 {
			c.limit = c.byDefault
		}
		namespace := func(k provider.Key) string { return k.Namespace }
		out[c.class] = &slotPool{
			total: c.limit, timeout: timeout, byNamespace: map[string]int{}, offers: map[provider.Key]time.Time{},
			queue: priorityqueue.New(string(c.class), priorityqueue.WithFairness(namespace)),
		}
	}
	return out
}

// acquire acquires a slot for key. If none is free, it queues key and returns false.
func (p *slotPool) acquire(key provider.Key, priority int, now time.Time) bool {
	p.dropExpired(now)
	if _, offered := p.offers[key]; offered || p.used+len(p.offers) < p.total {
		p.dropOffer(key)
		p.queue.Remove(key)
		p.used++
		p.byNamespace[key.Namespace]++
		return true
	}
	p.queue.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, key)
	return false
}

// release releases the slot of key and returns the objects to which slots were offered.
func (p *slotPool) release(key provider.Key, now time.Time) []provider.Key {
	p.used--
	p.decrement(key.Namespace)
	return p.offerFree(now)
}

// returnOffer removes the offer to key and returns the objects to which slots were offered.
func (p *slotPool) returnOffer(key provider.Key, now time.Time) []provider.Key {
	if _, ok := p.offers[key]; !ok {
		return nil
	}
	p.dropOffer(key)
	return p.offerFree(now)
}

// offerFree offers each free slot to the first object in the queue. A namespace that uses at least half of the slots
// yields to other namespaces with the same priority. While a slot is free, at most one
// namespace uses half of the slots.
func (p *slotPool) offerFree(now time.Time) []provider.Key {
	p.dropExpired(now)
	var out []provider.Key
	for p.used+len(p.offers) < p.total && p.queue.Len() > 0 {
		for namespace, n := range p.byNamespace {
			if 2*n >= p.total {
				p.queue.Yield(namespace)
			}
		}
		key, _ := p.queue.Get() // Get does not block: the queue is not empty, and only offerFree removes items.
		p.queue.Done(key)
		p.offers[key] = now
		p.byNamespace[key.Namespace]++
		out = append(out, key)
	}
	return out
}

// dropExpired removes offers that were not used in time.
func (p *slotPool) dropExpired(now time.Time) {
	for k, at := range p.offers {
		if now.Sub(at) >= p.timeout {
			p.dropOffer(k)
		}
	}
}

// dropOffer removes the offer to key, if there is one.
func (p *slotPool) dropOffer(key provider.Key) {
	if _, ok := p.offers[key]; ok {
		delete(p.offers, key)
		p.decrement(key.Namespace)
	}
}

// decrement decrements the number of slots of a namespace.
func (p *slotPool) decrement(namespace string) {
	if p.byNamespace[namespace]--; p.byNamespace[namespace] <= 0 {
		delete(p.byNamespace, namespace)
	}
}
