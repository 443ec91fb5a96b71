// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// operation is a read, or an update on condition of the previous value. No value is written twice.
type operation struct {
	object   string
	read     bool
	from, to string
}

// outcome is the result of an operation. An operation with an unknown outcome may have taken effect.
type outcome struct {
	value             string
	conflict, unknown bool
}

// register models one object as observed by a client.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(operation).object
			by[name] = append(by[name], o)
		}
		var all [][]porcupine.Operation
		for _, part := range by {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(operation), output.(outcome)
		switch {
		case in.read:
			return out.value == state, state
		case out.conflict:
			return state != in.from, state
		case state == in.from:
			return true, in.to
		default:
			return out.unknown, state
		}
	},
	Equal: func(a, b any) bool { return a == b },
}

// observed omits updates with an unknown outcome whose value no client has read. If such an update took effect, its
// value is the last one, or the client that wrote the next value has read it.
func observed(history []porcupine.Operation) []porcupine.Operation {
	seen := map[string]bool{}
	for _, o := range history {
		if in, out := o.Input.(operation), o.Output.(outcome); in.read {
			seen[out.value] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(history), func(o porcupine.Operation) bool {
		return o.Output.(outcome).unknown && !seen[o.Input.(operation).to]
	})
}

// The check must find a lost write.
func TestHistory_ImpossibleSequencesAreFound(t *testing.T) {
	t.Parallel()
	did := func(called, returned int64, in operation, out outcome) porcupine.Operation {
		in.object = "a"
		return porcupine.Operation{ClientId: int(called), Input: in, Call: called, Output: out, Return: returned}
	}
	wrote := func(called, returned int64, from, to string) porcupine.Operation {
		return did(called, returned, operation{from: from, to: to}, outcome{})
	}
	read := func(called, returned int64, value string) porcupine.Operation {
		return did(called, returned, operation{read: true}, outcome{value: value})
	}
	unknown := func(called int64, from, to string) porcupine.Operation {
		return did(called, math.MaxInt64, operation{from: from, to: to}, outcome{unknown: true})
	}
	refused := func(called, returned int64, from, to string) porcupine.Operation {
		return did(called, returned, operation{from: from, to: to}, outcome{conflict: true})
	}
	for name, tc := range map[string]struct {
		history []porcupine.Operation
		can     bool
	}{
		"one after the other":              {[]porcupine.Operation{wrote(0, 1, "", "1"), read(2, 3, "1"), wrote(4, 5, "1", "2"), read(6, 7, "2")}, true},
		"one without an answer, done":      {[]porcupine.Operation{wrote(0, 1, "", "1"), unknown(2, "1", "9"), read(3, 4, "1"), read(5, 6, "9")}, true},
		"one without an answer, not done":  {[]porcupine.Operation{wrote(0, 1, "", "1"), unknown(2, "1", "9"), wrote(3, 4, "1", "2"), read(5, 6, "2")}, true},
		"a conflict":                       {[]porcupine.Operation{wrote(0, 3, "", "1"), refused(1, 4, "", "2"), read(5, 6, "1")}, true},
		"a write was lost":                 {[]porcupine.Operation{wrote(0, 1, "", "1"), wrote(2, 3, "1", "2"), read(4, 5, "1")}, false},
		"an old value was read":            {[]porcupine.Operation{wrote(0, 1, "", "1"), read(4, 5, "")}, false},
		"two wrote from one value":         {[]porcupine.Operation{wrote(0, 1, "", "1"), wrote(2, 5, "1", "2"), wrote(3, 6, "1", "3")}, false},
		"a conflict without another write": {[]porcupine.Operation{wrote(0, 1, "", "1"), refused(2, 3, "1", "2"), read(5, 6, "1")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := porcupine.CheckOperations(register, observed(tc.history)); got != tc.can {
				t.Errorf("it can be: %t, want %t", got, tc.can)
			}
		})
	}
}
