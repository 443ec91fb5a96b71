// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/slipway-dev/slipway/test/fleetcheck"
)

// wish is a virtual machine as its user wants it.
type wish struct {
	namespace, name string
	// typed machines have their size of an instance type, others in the spec.
	typed           bool
	exists, big, on bool
}

// machine is a virtual machine whose user submits one order after another.
type machine struct {
	wish
	// born is the round of the first create.
	born int
	// busy is true while an order waits for being accepted.
	busy atomic.Bool
}

func (m wish) key() string { return m.namespace + "/" + m.name }

// vcpus and memory, in MiB, are the desired size.
func (m wish) vcpus() int32 {
	if m.big {
		return 4
	}
	return 2
}
func (m wish) memoryMB() int32 { return m.vcpus() * 1024 }

// order is one wish of a user.
type order int

const (
	nothing order = iota
	create
	remove
	resize
	power
	restart
)

// fleet is all machines; its orders depend on the seed alone.
type fleet struct {
	machines []*machine
	rounds   int
	random   *rand.Rand
}

const namespaces = 3

func namespaceName(i int) string { return fmt.Sprintf("chaos-%d", i) }

func namespaceNames() []string {
	var all []string
	for i := range namespaces {
		all = append(all, namespaceName(i))
	}
	return all
}

// newFleet spreads the creates over the first half of the rounds.
func newFleet(machines, rounds int, random *rand.Rand) *fleet {
	f := &fleet{rounds: rounds, random: random}
	for i := range machines {
		f.machines = append(f.machines, &machine{
			wish: wish{namespace: namespaceName(i % namespaces), name: fmt.Sprintf("vm-%03d", i), typed: i%2 == 0},
			born: random.IntN(rounds/2 + 1),
		})
	}
	return f
}

// next chooses the order of m's user for a round, and records it.
func (f *fleet) next(m *machine, round int) order {
	if !m.exists {
		// A name that was given up is used again soon: the two machines must not meet.
		if round == m.born || round > m.born && f.random.IntN(3) == 0 {
			m.exists, m.big, m.on = true, false, true
			return create
		}
		return nothing
	}
	switch draw := f.random.IntN(10); {
	case draw < 2:
		m.exists = false
		return remove
	case draw < 5:
		m.big = !m.big
		return resize
	case draw < 7:
		m.on = !m.on
		return power
	case draw < 8 && m.on:
		return restart
	default:
		return nothing
	}
}

// wanted are the desired machines.
func (f *fleet) wanted() map[string]fleetcheck.Wish {
	all := map[string]fleetcheck.Wish{}
	for _, m := range f.machines {
		if m.exists {
			all[m.key()] = fleetcheck.Wish{Namespace: m.namespace, Name: m.name, On: m.on, VCPUs: m.vcpus(), MemoryMB: m.memoryMB()}
		}
	}
	return all
}
