// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"net/http"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/simulated"
)

// A server that tells of differences to what it has told last says nothing of what came
// and went between two answers; a direct read may have seen it.
func TestWhatADirectReadHasSeenAndNoStreamTellsOfIsReadAgain(t *testing.T) {
	f := startInventory(t)
	vm := f.make(t, managedFolder, "web")
	ref := vm.Reference()
	simulated.Eventually(t, "it can be read", func() bool { return observe.Readable(f.Get(ref)) })
	f.stop() // From now on the test says what the stream tells.
	client, err := f.opts.Session.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.synced = true
	tell := func(wait int) {
		t.Helper()
		if err := f.applyBatch(t.Context(), client, batch{wait: wait}, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.waits = 5
	simulated.Control(t, f.ready, http.MethodPost, "/vm/hide?state=inaccessible&vm="+ref.Value)
	if seen, err := f.Refresh(t.Context(), ref); err != nil || observe.Readable(seen) {
		t.Fatalf("Refresh = %+v, %v; want a record that cannot be read", seen, err)
	}
	tell(5) // The answer of a wait that began before.
	if observe.Readable(f.Get(ref)) {
		t.Error("a hidden virtual machine became readable")
	}
	simulated.Control(t, f.ready, http.MethodPost, "/vm/show?vm="+ref.Value)
	f.waits = 6
	tell(6)
	if !observe.Readable(f.Get(ref)) {
		t.Error("the record is still that of the direct read, and the stream will never tell of another")
	}
	simulated.Eventually(t, "it is not read again and again", func() bool {
		f.waits++
		tell(f.waits)
		return len(f.direct) == 0
	})
}

func TestADirectReadThatShowsNothingNewIsNotRepeated(t *testing.T) {
	f := startInventory(t)
	vm := f.make(t, managedFolder, "web")
	ref := vm.Reference()
	simulated.Eventually(t, "the record is complete", func() bool {
		_, err := f.Refresh(t.Context(), ref)
		f.mu.Lock()
		defer f.mu.Unlock()
		_, again := f.direct[ref]
		return err == nil && !again && f.vms[ref].Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
	})
}
