// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// blockedCalls returns the number of blocked calls of a method.
func blockedCalls(t *testing.T, ready vcenter.Ready, method string) int {
	t.Helper()
	waiting := map[string]int{}
	if err := json.Unmarshal([]byte(ask(t, ready, http.MethodGet, "/hold")), &waiting); err != nil {
		t.Fatal(err)
	}
	return waiting[method]
}

// A process is killed before vCenter receives a call, or before it receives the response. The next process
// continues from the state in vCenter: the VM runs, or the object is deleted and no files remain.
func TestFastDeploy_IsCompletedByTheNextProcess(t *testing.T) {
	t.Parallel()
	steps := map[vmv1alpha1.FastDeployMode][]string{
		vmv1alpha1.FastDeployDirect: {"MakeDirectory", "CopyVirtualDisk_Task", "CreateVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"},
		vmv1alpha1.FastDeployLinked: {"MakeDirectory", "CreateVM_Task", "ReconfigVM_Task"},
	}
	for mode, calls := range steps {
		for _, call := range calls {
			t.Run(fmt.Sprintf("%s/%s", mode, call), func(t *testing.T) {
				t.Parallel()
				ready := startVCenter(t)
				f := datastoreOf(t, ready)
				f.createDisk(cachedDisk)
				for i, step := range []string{call, "answer." + call} {
					for _, deleted := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s/deleted=%v", step, deleted), func(t *testing.T) {
							req := fastRequest(fmt.Sprintf("web-%d-%v", i, deleted), mode, cacheOf(f))
							killAt(t, ready, datastoreFiles{t, f.ds, f.dc}, req, step, deleted)
						})
					}
				}
				datastoreFiles{t, f.ds, f.dc}.checkCopies(t)
			})
		}
	}
}

func TestPromotion_IsCompletedByTheNextProcess(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	for i, step := range []string{"PromoteDisks_Task", "answer.PromoteDisks_Task"} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/deleted=%v", step, deleted), func(t *testing.T) {
				req := fastRequest(fmt.Sprintf("web-%d-%v", i, deleted), vmv1alpha1.FastDeployLinked, cacheOf(f))
				req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeOnline
				killAt(t, ready, datastoreFiles{t, f.ds, f.dc}, req, step, deleted)
			})
		}
	}
	datastoreFiles{t, f.ds, f.dc}.checkCopies(t)
}

func killAt(t *testing.T, ready vcenter.Ready, f datastoreFiles, req *provider.Request, step string, deleted bool) {
	first := newProvider(t, settings{Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5,
	}})
	stop := run(t, first)
	eventually(t, "the inventory is read", first.inventory.Synced)
	req.VM.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute))
	control(t, ready, http.MethodPut, "/hold?method="+step)
	done := make(chan struct{})
	go func() { // The first process reconciles without events.
		defer close(done)
		for blockedCalls(t, ready, step) == 0 && t.Context().Err() == nil {
			req.Now = time.Now()
			if ch, _ := first.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch != nil && blockedCalls(t, ready, step) == 0 {
				select {
				case <-ch:
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	}()
	<-done
	go stop()
	control(t, ready, http.MethodPost, "/outage?seconds=1") // A killed process loses its connections.
	control(t, ready, http.MethodDelete, "/hold?method="+step)

	second, _ := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", second.inventory.Synced)
	l := newLoop(t, second)
	if deleted {
		req.VM.DeletionTimestamp = new(metav1.Now())
	} else {
		l.until("the VM runs", isRunning(req), req)
		if req.VM.Spec.PromoteDisksMode == vmv1alpha1.PromoteDisksModeOnline {
			l.until("the VM's disks are promoted", func() bool { return promotion(req) == "True Succeeded" }, req)
		}
		if disks, _ := parentsOf(t, ready, req.VM.Status.UniqueID); len(disks) != 1 {
			t.Errorf("disks %q, want one", disks)
		}
	}
	l.remove(req)
	if left := f.list(string(req.VM.UID)); left != nil {
		t.Errorf("the directory of the VM still contains %q", left)
	}
	topLevel := slices.DeleteFunc(f.list(""), func(name string) bool { return !strings.HasPrefix(name, string(req.VM.UID)) })
	if diff := cmp.Diff([]string(nil), topLevel); diff != "" && len(topLevel) > 0 {
		t.Errorf("remaining files on the datastore:\n%s", diff)
	}
}
