// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// killAtStep calls reconcile in a process until the process blocks at a step, and then kills the process. At this
// point either vCenter has not received the call, or the response is lost. It returns the loop of the next process.
func killAtStep(t *testing.T, ready vcenter.Ready, req *provider.Request, step string, reconcile func(*Provider)) *loop {
	t.Helper()
	first := newProvider(t, settings{Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5,
	}})
	stop := run(t, first)
	eventually(t, "the inventory is read", first.inventory.Synced)
	req.VM.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute))
	control(t, ready, http.MethodPut, "/hold?method="+step)
	eventually(t, "the call is blocked", func() bool {
		reconcile(first)
		return blockedCalls(t, ready, step) > 0
	})
	go stop()
	control(t, ready, http.MethodPost, "/outage?seconds=1") // A killed process loses its connections.
	control(t, ready, http.MethodDelete, "/hold?method="+step)
	second, _ := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", second.inventory.Synced)
	return newLoop(t, second)
}

// A snapshot has the steps: store the record in the VM, take the snapshot, remove the record from the VM.
func TestSnapshot_IsCompletedByTheNextProcess(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, step := range map[string]string{
		"no-record": "ReconfigVM_Task", "record": "answer.ReconfigVM_Task", "no-snapshot": "CreateSnapshotEx_Task", "snapshot": "answer.CreateSnapshotEx_Task",
	} {
		t.Run(step, func(t *testing.T) {
			req := newRequest(name, templateImage())
			p, _ := startProvider(t, ready, nil)
			newLoop(t, p).until("the VM runs", isRunning(req), req)
			s := snapshotOf(req, "of-"+name)
			l := killAtStep(t, ready, req, step, func(p *Provider) {
				s.Now = time.Now()
				_, _ = p.Snapshot(t.Context(), s) // It blocks at the step.
			})
			made, err := l.takeSnapshot(s)
			if err != nil {
				t.Fatal(err)
			}
			l.until("the snapshot is reported", func() bool { return len(req.VM.Status.Snapshots) == 1 }, req)
			if got := vmSummary(t, ready, req); got != "poweredOn 2" || req.VM.Status.Snapshots[0].UniqueID != made.UniqueID {
				t.Errorf("the VM is %s with snapshots %+v, want only %s", got, req.VM.Status.Snapshots, made.UniqueID)
			}
			// The snapshot must contain the record that a revert needs.
			l.restoreObjects(map[string]int32{"of-" + name: 2})
			s.UniqueID = made.UniqueID
			revertTo(req, s)
			l.until("the VM is reverted", func() bool {
				return req.VM.Spec.CurrentSnapshotName == "" && vmSummary(t, ready, req) == "poweredOff 2"
			}, req)
			l.remove(req)
		})
	}
}

// A revert has the steps: revert the VM, restore the object, remove the record from the VM. A process that
// continues after any step must complete the revert.
func TestRevert_IsCompletedByTheNextProcess(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, step := range map[string]string{
		"before": "RevertToSnapshot_Task", "reverted": "answer.RevertToSnapshot_Task", "restored": "ReconfigVM_Task", "dropped": "answer.ReconfigVM_Task",
	} {
		t.Run(step, func(t *testing.T) {
			req := newRequest("vm-"+name, templateImage())
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			l.until("the VM runs", isRunning(req), req)
			s := l.mustTakeSnapshot(req, "then")
			req.VM.Spec.PowerState, req.Effective.CPU.Sockets = vmv1alpha1.PoweredOff, 4
			l.until("the VM has 4 CPUs", func() bool { return vmSummary(t, ready, req) == "poweredOff 4" }, req)
			revertTo(req, s)
			sockets := map[string]int32{"then": 2}
			l = killAtStep(t, ready, req, step, func(p *Provider) {
				(&loop{t: t, p: p, wake: make(chan struct{}, 1)}).restoreObjects(sockets)
				req.Now = time.Now()
				_, _ = p.CreateOrUpdateVirtualMachineAsync(t.Context(), req) // It blocks at the step.
			})
			l.restoreObjects(sockets)
			l.until("the VM is reverted", func() bool {
				return req.VM.Spec.CurrentSnapshotName == "" && vmSummary(t, ready, req) == "poweredOff 2"
			}, req)
			l.untilIdle(req)
			checkNoOperation(t, l.p, req)
			l.remove(req)
		})
	}
}
