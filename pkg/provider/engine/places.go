// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// class is what is bounded together.
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

// classOf is empty for what is not bounded: what only asks, or waits for a guest.
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

// places counts the operations of one class. It has no lock and no clock of its own.
type places struct {
	total   int
	timeout time.Duration
	used    int
	// held counts by namespace the places that are used or offered.
	held map[string]int
	// line holds those that were refused, in the order in which they are called.
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

// take takes a place for key, or queues key and returns false.
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

// release gives the place of key back and returns those to offer places to.
func (p *places) release(key provider.Key, now time.Time) []provider.Key {
	p.used--
	p.leave(key.Namespace)
	return p.offer(now)
}

// decline withdraws the offer to key and returns those to offer places to.
func (p *places) decline(key provider.Key, now time.Time) []provider.Key {
	if _, ok := p.offers[key]; !ok {
		return nil
	}
	p.withdraw(key)
	return p.offer(now)
}

// offer offers every free place to the first in the line. A namespace that holds half of
// the places, of which there is one at most while another place is free, lets the others
// of the priority go first.
func (p *places) offer(now time.Time) []provider.Key {
	p.expire(now)
	var out []provider.Key
	for p.used+len(p.offers) < p.total && p.line.Len() > 0 {
		for namespace, n := range p.held {
			if 2*n >= p.total {
				p.line.Yield(namespace)
			}
		}
		key, _ := p.line.Get() // It does not wait: nobody else takes from the line.
		p.line.Done(key)
		p.offers[key] = now
		p.held[key.Namespace]++
		out = append(out, key)
	}
	return out
}

// expire drops offers that nobody took in time.
func (p *places) expire(now time.Time) {
	for k, at := range p.offers {
		if now.Sub(at) >= p.timeout {
			p.withdraw(k)
		}
	}
}

// withdraw drops the offer to key, if there is one.
func (p *places) withdraw(key provider.Key) {
	if _, ok := p.offers[key]; ok {
		delete(p.offers, key)
		p.leave(key.Namespace)
	}
}

// leave notes that a namespace has a place less.
func (p *places) leave(namespace string) {
	if p.held[namespace]--; p.held[namespace] <= 0 {
		delete(p.held, namespace)
	}
}
