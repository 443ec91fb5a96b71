// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/slipway-dev/slipway/test/fleetcheck"
)

// wish is the desired state of a virtual machine.
type wish struct {
	namespace, name string
	// typed VMs have the size of an instance type. Others have it in the spec.
	typed           bool
	exists, big, on bool
}

// machine is a virtual machine whose user sends one order after another.
type machine struct {
	wish
	// born is the round in which it is first created.
	born int
	// busy is true until the API has accepted the order.
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

// order is a request of a user.
type order int

const (
	nothing order = iota
	create
	remove
	resize
	power
	restart
)

// fleet has all VMs. Its orders depend only on the seed.
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

// next chooses the order of m's user for a round and records it.
func (f *fleet) next(m *machine, round int) order {
	if !m.exists {
		// A released name is used again soon, to test that the two VMs are not confused.
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

// wanted returns the desired VMs.
func (f *fleet) wanted() map[string]fleetcheck.Wish {
	all := map[string]fleetcheck.Wish{}
	for _, m := range f.machines {
		if m.exists {
			all[m.key()] = fleetcheck.Wish{Namespace: m.namespace, Name: m.name, On: m.on, VCPUs: m.vcpus(), MemoryMB: m.memoryMB()}
		}
	}
	return all
}
