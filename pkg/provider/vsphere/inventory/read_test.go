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

// A server reports differences to its last response. It does not report an object that appeared and disappeared
// between two responses, although a direct read may have returned that object.
func TestVerify_RepeatsADirectReadThatTheStreamDoesNotReport(t *testing.T) {
	f := startInventory(t)
	vm := f.create(t, managedFolder, "web")
	ref := vm.Reference()
	simulated.Eventually(t, "the VM can be read", func() bool { return observe.IsReadable(f.Get(ref)) })
	f.stop() // From now on the test delivers the stream's updates.
	client, err := f.opts.Session.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.synced = true
	sendUpdate := func(wait int) {
		t.Helper()
		if err := f.applyBatch(t.Context(), client, batch{wait: wait}, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.waits = 5
	simulated.Control(t, f.ready, http.MethodPost, "/vm/hide?state=inaccessible&vm="+ref.Value)
	if seen, err := f.Refresh(t.Context(), ref); err != nil || observe.IsReadable(seen) {
		t.Fatalf("Refresh = %+v, %v; want a record that cannot be read", seen, err)
	}
	sendUpdate(5) // The response to a wait that began before the read.
	if observe.IsReadable(f.Get(ref)) {
		t.Error("a hidden virtual machine became readable")
	}
	simulated.Control(t, f.ready, http.MethodPost, "/vm/show?vm="+ref.Value)
	f.waits = 6
	sendUpdate(6)
	if !observe.IsReadable(f.Get(ref)) {
		t.Error("the record is still that of the direct read, although the stream will not report a newer one")
	}
	simulated.Eventually(t, "the VM is no longer read repeatedly", func() bool {
		f.waits++
		sendUpdate(f.waits)
		return len(f.direct) == 0
	})
}

func TestVerify_DoesNotRepeatAnUnchangedRead(t *testing.T) {
	f := startInventory(t)
	vm := f.create(t, managedFolder, "web")
	ref := vm.Reference()
	simulated.Eventually(t, "the record is complete", func() bool {
		_, err := f.Refresh(t.Context(), ref)
		f.mu.Lock()
		defer f.mu.Unlock()
		_, again := f.direct[ref]
		return err == nil && !again && f.vms[ref].Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff
	})
}
