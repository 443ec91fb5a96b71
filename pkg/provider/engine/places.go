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
		if !op.Asks {
			return powerChanges
		}
	case driver.KindPublish:
		return publishes
	case driver.KindSnapshot, driver.KindUnsnapshot, driver.KindRevert:
		return snapshots
	case driver.KindCopyImage:
		return imageCopies
	case driver.KindCheck, driver.KindSearch, driver.KindWithdraw, driver.KindCollectImages:
	}
	return ""
}

// places is the slot pool of one class. It has no lock and no clock.
type places struct {
	total   int
	timeout time.Duration
	used    int
	// held is the number of used or offered slots by namespace.
	held map[string]int
	// line is the queue of the objects that found no free slot, in the order in which slots are offered to them.
	line   *priorityqueue.Queue[provider.Key]
	offers map[provider.Key]time.Time
}

func newPlaces(l Limits, timeout time.Duration) map[class]*places {
	out := map[class]*places{}
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
		out[c.class] = &places{
			total: c.limit, timeout: timeout, held: map[string]int{}, offers: map[provider.Key]time.Time{},
			line: priorityqueue.New(string(c.class), priorityqueue.WithFairness(namespace)),
		}
	}
	return out
}

// take acquires a slot for key. If none is free, it queues key and returns false.
func (p *places) take(key provider.Key, priority int, now time.Time) bool {
	p.expire(now)
	if _, offered := p.offers[key]; offered || p.used+len(p.offers) < p.total {
		p.withdraw(key)
		p.line.Remove(key)
		p.used++
		p.held[key.Namespace]++
		return true
	}
	p.line.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, key)
	return false
}

// release releases the slot of key and returns the objects to which slots were offered.
func (p *places) release(key provider.Key, now time.Time) []provider.Key {
	p.used--
	p.leave(key.Namespace)
	return p.offer(now)
}

// decline removes the offer to key and returns the objects to which slots were offered.
func (p *places) decline(key provider.Key, now time.Time) []provider.Key {
	if _, ok := p.offers[key]; !ok {
		return nil
	}
	p.withdraw(key)
	return p.offer(now)
}

// offer offers each free slot to the first object in the queue. A namespace that uses at least half of the slots yields
// to other namespaces with the same priority. While another slot is free, at most one namespace uses half of them.
func (p *places) offer(now time.Time) []provider.Key {
	p.expire(now)
	var out []provider.Key
	for p.used+len(p.offers) < p.total && p.line.Len() > 0 {
		for namespace, n := range p.held {
			if 2*n >= p.total {
				p.line.Yield(namespace)
			}
		}
		key, _ := p.line.Get() // Get does not block: the queue is not empty, and only offer removes items.
		p.line.Done(key)
		p.offers[key] = now
		p.held[key.Namespace]++
		out = append(out, key)
	}
	return out
}

// expire removes offers that were not used in time.
func (p *places) expire(now time.Time) {
	for k, at := range p.offers {
		if now.Sub(at) >= p.timeout {
			p.withdraw(k)
		}
	}
}

// withdraw removes the offer to key, if there is one.
func (p *places) withdraw(key provider.Key) {
	if _, ok := p.offers[key]; ok {
		delete(p.offers, key)
		p.leave(key.Namespace)
	}
}

// leave decrements the number of slots of a namespace.
func (p *places) leave(namespace string) {
	if p.held[namespace]--; p.held[namespace] <= 0 {
		delete(p.held, namespace)
	}
}
