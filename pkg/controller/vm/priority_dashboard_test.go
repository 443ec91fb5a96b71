// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/controller"
)

// The server returns priorities as numbers, and the dashboard has names for them.
func TestPriority_DashboardHasANameForEachValue(t *testing.T) {
	page, err := os.ReadFile("../../../cmd/virtctl/dashboard/web/queue.js")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)const priorities = \[(.*?)\];`).FindSubmatch(page)
	if list == nil {
		t.Fatal("queue.js has no priorities")
	}
	got := map[int]string{}
	for _, pair := range regexp.MustCompile(`\[(-?\d+), '([^']+)'\]`).FindAllSubmatch(list[1], -1) {
		number, err := strconv.Atoi(string(pair[1]))
		if err != nil {
			t.Fatal(err)
		}
		got[number] = string(pair[2])
	}
	want := map[int]string{
		PriorityCreating: "Not created yet", PriorityPowerStateChange: "Power change", PriorityDeleting: "Deletion",
		PriorityWaitingForIP: "Waiting for an address", PriorityWaitingForDiskPromo: "Disk promotion",
		controller.PriorityDefaultCreate: "First reconcile", controller.PriorityDefaultUpdate: "Update",
		controller.PriorityDefaultDelete: "Delete event", controller.PriorityDefaultGeneric: "Resync",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names in the dashboard (-want +got):\n%s", diff)
	}
}
