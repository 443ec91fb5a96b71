// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

func TestSlots_AreFourInTotalAndOnePerNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newListSlots()
		var returns []func()
		for i := range maxLists {
			done := s.tryReserve(fmt.Sprint(i))
			if done == nil {
				t.Fatalf("no slot for namespace %d", i)
			}
			if s.tryReserve(fmt.Sprint(i)) != nil {
				t.Errorf("reserved a second slot for namespace %d", i)
			}
			returns = append(returns, done)
		}
		if s.tryReserve("other") != nil {
			t.Error("reserved a fifth slot")
		}
		short, cancel := context.WithCancel(t.Context())
		cancel()
		for _, namespace := range []string{"0", "other"} {
			if _, err := s.reserve(short, namespace); !errors.Is(err, context.Canceled) {
				t.Errorf("waiting for a slot of namespace %s ends with %v", namespace, err)
			}
		}
		got := make(chan string, 2)
		for _, namespace := range []string{"0", "other"} {
			go func() {
				done, err := s.reserve(t.Context(), namespace)
				if err == nil {
					got <- namespace
					done()
				}
			}()
		}
		if synctest.Wait(); len(got) > 0 {
			t.Errorf("namespace %s has a slot although none is free", <-got)
		}
		returns[0]()
		if synctest.Wait(); len(got) != 2 {
			t.Errorf("%d namespaces got the released slot, want one after the other", len(got))
		}
	})
}
