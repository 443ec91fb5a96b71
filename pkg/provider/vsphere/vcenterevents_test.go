// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// eventLog collects events as "reason: note".
type eventLog struct {
	mu  sync.Mutex
	all []provider.HypervisorEvent
}

func (n *eventLog) add(h provider.HypervisorEvent) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, h)
}

func (n *eventLog) count(reason, note string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(n.all), func(h provider.HypervisorEvent) bool {
		return h.Reason != reason || !strings.Contains(h.Note, note)
	}))
}

// The property stream delivers vCenter's events without further calls.
func TestEvents_AreReportedOnce(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	var first eventLog
	p, _ := startProvider(t, ready, func(s *settings) { s.OnEvent = first.add })
	req := newRequest("eventful", templateImage())
	newLoop(t, p).until("the VM runs", isRunning(req), req)
	postEvent := func(kind, message string) {
		q := url.Values{"vm": {req.VM.Status.UniqueID}, "kind": {kind}, "message": {message}}
		control(t, ready, http.MethodPost, "/vm/event?"+q.Encode())
	}
	postEvent("DrsVmMigratedEvent", "")
	eventually(t, "the migration is reported", func() bool { return first.count("MigratedByDRS", "from host esx-before to host ") == 1 })
	postEvent("VmMessageErrorEvent", "There is no more space for virtual disk")
	postEvent("com.example.NotReported", "")
	postEvent("com.vmware.vc.ha.VmRestartedByHAEvent", "")
	eventually(t, "the failure of the host is reported", func() bool { return first.count("RestartedByHA", "") == 1 })
	if got := first.count("Error", "no more space for virtual disk"); got != 1 {
		t.Errorf("the error was reported %d times, want once", got)
	}
	first.mu.Lock()
	all := slices.Clone(first.all)
	first.mu.Unlock()
	if len(all) != 3 {
		t.Errorf("reported %+v, want three events", all)
	}
	for _, h := range all {
		if h.Key.Name != "eventful" || h.UID != req.VM.UID || h.At.IsZero() {
			t.Errorf("reported %+v, want the object's key", h)
		}
	}

	// A new process reports the same events again, with the same IDs.
	var second eventLog
	_, _ = startProvider(t, ready, func(s *settings) { s.OnEvent = second.add })
	eventually(t, "the next process reports the events", func() bool {
		return second.count("RestartedByHA", "") == 1 && second.count("MigratedByDRS", "") == 1 && second.count("Error", "") == 1
	})
	second.mu.Lock()
	defer second.mu.Unlock()
	for _, h := range second.all {
		if !slices.ContainsFunc(all, func(before provider.HypervisorEvent) bool { return before.ID == h.ID && before.Reason == h.Reason }) {
			t.Errorf("%+v was reported with another ID by the first process: %+v", h, all)
		}
	}
}
