// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

func snapshotOf(of *provider.Request, name string) *provider.Snapshot {
	return &provider.Snapshot{
		NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}, UID: types.UID(name), Source: provider.KeyOf(of.VM).NamespacedName, VM: of.VM,
		Record: "record", Now: time.Now(),
	}
}

// createSnapshot creates a snapshot and returns it with its unique ID.
func (s *testSetup) createSnapshot(of *provider.Request, name string) *provider.Snapshot {
	s.t.Helper()
	snapshot := snapshotOf(of, name)
	if _, err := s.Snapshot(s.t.Context(), snapshot); !errors.Is(err, provider.ErrReconcileInProgress) {
		s.t.Fatalf("creating a snapshot = %v, want ErrReconcileInProgress", err)
	}
	synctest.Wait()
	made, err := s.Snapshot(s.t.Context(), snapshot)
	if err != nil || made.UID != snapshot.UID {
		s.t.Fatalf("the snapshot is %+v, %v", made, err)
	}
	snapshot.UniqueID = made.UniqueID
	return snapshot
}

// After a revert the object is restored from the snapshot record that is stored in the virtual machine. In the meantime
// a reconcile of the snapshot must not conclude from the record that the snapshot is unfinished.
func TestSnapshotRecord_OfARevertDoesNotMeanAnUnfinishedSnapshot(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.poweredOffVM("vm")
		snapshot := s.createSnapshot(req, "before")
		id := string(req.VM.UID)
		s.driver.Change(id, func(vm *fake.VM) { vm.Kept = &provider.StoredSnapshotRecord{UID: snapshot.UID, Record: "record"} })
		if made, err := s.Snapshot(t.Context(), snapshot); err != nil || made.UniqueID != snapshot.UniqueID {
			t.Errorf("the snapshot of the revert = %+v, %v, want it unchanged", made, err)
		}
		if n := s.driver.OperationCount(driver.KindSnapshot); n != 1 {
			t.Errorf("%d operations, want only the create", n)
		}
		unfinished := *snapshot
		unfinished.UniqueID = ""
		if _, err := s.Snapshot(t.Context(), &unfinished); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("a snapshot without a unique ID in status = %v, want ErrReconcileInProgress", err)
		}
		synctest.Wait()
	})
}

func TestSnapshot_WaitsUntilARevertedObjectIsRestored(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.poweredOffVM("vm")
		snapshot := s.createSnapshot(req, "before")
		s.driver.Change(string(req.VM.UID), func(vm *fake.VM) { vm.Kept = &provider.StoredSnapshotRecord{UID: snapshot.UID, Record: "record"} })
		var refused *provider.SnapshotRefusedError
		if _, err := s.Snapshot(t.Context(), snapshotOf(req, "another")); !errors.As(err, &refused) || refused.Reason != vmv1alpha1.ReasonWaitingForPrerequisites {
			t.Errorf("another snapshot = %v, want it to wait", err)
		}
		snapshot.VM = snapshot.VM.DeepCopy()
		meta.SetStatusCondition(&snapshot.VM.Status.Conditions, metav1.Condition{
			Type: vmv1alpha1.ConditionSnapshotSynced, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonReverting,
		})
		if err := s.RemoveSnapshot(t.Context(), snapshot); !errors.As(err, &refused) || refused.Reason != vmv1alpha1.ReasonWaitingForPrerequisites {
			t.Errorf("its removal = %v, want it to wait", err)
		}
		if n := s.driver.OperationCount(driver.KindRemoveSnapshot); n != 0 {
			t.Errorf("removed %d times", n)
		}
	})
}

func TestSnapshot_IsRefusedForAPausedVM(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.poweredOffVM("vm")
		snapshot := s.createSnapshot(req, "before")
		s.driver.Change(string(req.VM.UID), func(vm *fake.VM) { vm.Paused = true })
		var refused *provider.SnapshotRefusedError
		if _, err := s.Snapshot(t.Context(), snapshotOf(req, "another")); !errors.As(err, &refused) || refused.Reason != vmv1alpha1.ReasonPaused {
			t.Errorf("another snapshot = %v, want Paused", err)
		}
		if err := s.RemoveSnapshot(t.Context(), snapshot); !errors.As(err, &refused) || refused.Reason != vmv1alpha1.ReasonPaused || s.driver.OperationCount(driver.KindRemoveSnapshot) > 0 {
			t.Errorf("its removal = %v, want Paused", err)
		}
	})
}

func TestSnapshot_IsRemovedOnce(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		snapshot := s.createSnapshot(s.poweredOffVM("vm"), "before")
		if err := s.RemoveSnapshot(t.Context(), snapshot); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Fatalf("removal = %v, want ErrReconcileInProgress", err)
		}
		synctest.Wait()
		if err := s.RemoveSnapshot(t.Context(), snapshot); err != nil || s.driver.OperationCount(driver.KindRemoveSnapshot) != 1 {
			t.Errorf("removed = %v, %d times", err, s.driver.OperationCount(driver.KindRemoveSnapshot))
		}
		if _, err := s.Snapshot(t.Context(), snapshot); !errors.Is(err, provider.ErrSnapshotMissing) {
			t.Errorf("the removed snapshot = %v, want ErrSnapshotMissing", err)
		}
	})
}
