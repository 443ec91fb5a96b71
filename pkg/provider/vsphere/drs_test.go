// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/simulated"
)

func TestHost_IsSelectedInAClusterWithoutDRS(t *testing.T) {
	t.Parallel()
	_, l, ready, _ := startZones(t)
	hosts, err := find.NewFinder(simulated.Operator(t, ready).Client).HostSystemList(t.Context(), "/DC0/host/DC0_C1/*")
	if err != nil || len(hosts) != 3 {
		t.Fatalf("%d hosts, want 3: %v", len(hosts), err)
	}
	finish := func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	finish(hosts[0].EnterMaintenanceMode(t.Context(), 0, false, nil))
	finish(hosts[1].Disconnect(t.Context()))

	deployed, cloned := zoneRequest("b", "deployed"), zoneRequest("b", "cloned")
	cloned.Image = templateImage()
	l.until("both VMs run", isRunning(deployed, cloned), deployed, cloned)
	for _, req := range []*provider.Request{deployed, cloned} {
		if got := req.VM.Status.NodeName; got != hosts[2].Name() {
			t.Errorf("%s is on host %q, want %q: the others are in maintenance mode or disconnected", req.VM.Name, got, hosts[2].Name())
		}
	}

	finish(hosts[2].EnterMaintenanceMode(t.Context(), 0, false, nil))
	waiting := zoneRequest("b", "late")
	l.until("no host is available", func() bool {
		return strings.HasPrefix(message(&waiting.VM.Status, vmv1alpha1.ConditionPlacementReady), `cluster "DC0_C1" does not use DRS, and none of its hosts can run the virtual machine: `)
	}, waiting)
	got := message(&waiting.VM.Status, vmv1alpha1.ConditionPlacementReady)
	for _, want := range []string{hosts[0].Name() + " is in maintenance mode", hosts[1].Name() + " is disconnected", hosts[2].Name() + " is in maintenance mode"} {
		if !strings.Contains(got, want) {
			t.Errorf("message %q, want %q", got, want)
		}
	}
	finish(hosts[2].ExitMaintenanceMode(t.Context(), 0))
	l.until("the VM runs", isRunning(waiting), waiting)
}
