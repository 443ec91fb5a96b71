// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// machine is an observed VM.
type machine struct {
	driver *Driver
	id     string
	vm     VM
}

// Observe implements driver.Machine.
func (m machine) Observe(*driver.Desired) provider.Observation {
	o := provider.Observation{
		Readable: m.vm.Trouble == "", Trouble: m.vm.Trouble, Paused: m.vm.Paused, DependentDisks: m.vm.Depending, PromotionObstacle: m.vm.Unpromotable,
		RecordHead: m.vm.Record.Head, StoredSnapshot: m.vm.Kept,
		PowerState: m.vm.PowerState, CleanPowerOff: m.vm.PowerState == vmv1alpha1.PoweredOff && !m.vm.Crashed, UniqueID: m.vm.UniqueID, InstanceUUID: m.id, BiosUUID: m.id, NodeName: "fake-host",
	}
	if t, err := time.Parse(time.RFC3339Nano, m.vm.Restarted); err == nil {
		o.LastRestart = &metav1.Time{Time: t}
	}
	tools := metav1.Condition{Type: vmv1alpha1.ConditionGuestToolsReady, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonPoweredOff}
	if m.vm.PowerState == vmv1alpha1.PoweredOn {
		o.Network = &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: m.vm.Address}
		tools.Status, tools.Reason = metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded
	}
	o.Set(tools)
	for _, s := range m.vm.Snapshots {
		o.Snapshots = append(o.Snapshots, provider.ObservedSnapshot{
			VirtualMachineSnapshotNode: vmv1alpha1.VirtualMachineSnapshotNode{UniqueID: s.UniqueID, PowerState: s.PowerState}, UID: s.UID,
		})
	}
	return o
}

// Compare implements driver.Machine. The whole spec is one difference.
func (m machine) Compare(w *driver.Desired) driver.Comparison {
	var c driver.Comparison
	add := func(path, running, desired string, names bool, change func(*VM)) {
		c.Differences = append(c.Differences, driver.Difference{
			Path: path, Running: running, Desired: desired, Live: names, IsMetadata: names, FirstBoot: path == "nextRestartTime", Change: change,
		})
	}
	if m.vm.Owner == "" {
		key, uid := w.Identity.Key, w.Identity.UID
		add("metadata.uid", "", uid, true, func(v *VM) { v.Key, v.Owner = key, uid })
	}
	if !equality.Semantic.DeepEqual(w.Effective, m.vm.Effective) {
		effective := w.Effective.DeepCopy()
		add("spec", "another", "this", false, func(v *VM) { v.Effective = effective })
	}
	if at := w.Restarted.UTC().Format(time.RFC3339Nano); !w.Restarted.IsZero() && at != m.vm.Restarted {
		add("nextRestartTime", m.vm.Restarted, at, false, func(v *VM) { v.Restarted = at })
	}
	return c
}

// Record implements driver.Machine.
func (m machine) Record() string { return m.vm.Record.Text }

// StoreRecord implements driver.Machine.
func (m machine) StoreRecord(r driver.Record) driver.Difference {
	return driver.Difference{
		Path: "metadata.record", Running: m.vm.Record.Head.String(), Desired: r.Head.String(), Live: true, IsMetadata: true,
		Change: func(v *VM) { v.Record = r },
	}
}

// MissingMetadata implements driver.Machine.
func (m machine) MissingMetadata(*driver.Desired, int) []driver.Difference {
	if !m.vm.MissesMetadata {
		return nil
	}
	return []driver.Difference{{Path: "metadata.lack", Desired: "filled", Live: true, IsMetadata: true, Change: func(v *VM) { v.MissesMetadata = false }}}
}

// Complete implements driver.Machine. A create has only one step.
func (m machine) CompleteCreate(*driver.Desired) driver.Operation {
	return m.operation(driver.KindCreate, func(*VM) {})
}

// Configure implements driver.Machine.
func (m machine) Configure(changes []driver.Difference) driver.Operation {
	op := m.operation(driver.KindReconfigure, func(v *VM) { apply(v, changes) })
	op.Changes = changes
	return op
}

// PowerOn implements driver.Machine.
func (m machine) PowerOn() driver.Operation {
	return m.operation(driver.KindPowerOn, func(v *VM) { v.PowerState, v.Address = vmv1alpha1.PoweredOn, "192.0.2.1" })
}

// PowerOff implements driver.Machine.
func (m machine) PowerOff(mode vmv1alpha1.PowerOpMode, _ time.Duration) driver.Operation {
	return m.power(driver.KindPowerOff, mode, func(v *VM) { v.PowerState, v.Address = vmv1alpha1.PoweredOff, "" })
}

// Suspend implements driver.Machine.
func (m machine) Suspend(mode vmv1alpha1.PowerOpMode, _ time.Duration) driver.Operation {
	return m.power(driver.KindSuspend, mode, func(v *VM) { v.PowerState = vmv1alpha1.Suspended })
}

// Restart implements driver.Machine.
func (m machine) Restart(r driver.Restart) driver.Operation {
	at := r.Requested.UTC().Format(time.RFC3339Nano)
	op := m.power(driver.KindRestart, r.Mode, func(v *VM) {
		apply(v, r.Changes)
		v.Restarted = at
	})
	op.Detail += " " + at
	op.Changes = r.Changes
	return op
}

// Promote implements driver.Machine.
func (m machine) Promote(progress func(int32)) driver.Operation {
	return m.operation(driver.KindPromote, func(v *VM) {
		progress(100)
		v.Depending = 0
	})
}

// StopPromotion implements driver.Machine. There are no promotions by other processes.
func (m machine) StopPromotion(_ context.Context, err error) error { return err }

// Destroy implements driver.Machine.
func (m machine) Destroy(driver.Identity) driver.Operation {
	return m.driver.operation(driver.KindDelete, func() error {
		delete(m.driver.vms, m.id)
		return nil
	})
}

// Publish implements driver.Machine.
func (m machine) Publish(_ driver.Identity, pub provider.PublishRequest, made func(provider.Published)) (driver.Operation, error) {
	return m.operation(driver.KindPublish, func(*VM) { made(provider.Published{ItemID: "item-" + string(pub.UID), Version: "1"}) }), nil
}

// Snapshot implements driver.Machine. A snapshot has only one step.
func (m machine) Snapshot(_ driver.Identity, s provider.SnapshotRequest) (driver.Operation, error) {
	return m.operation(driver.KindSnapshot, func(v *VM) {
		v.Snapshots = append(v.Snapshots, Snapshot{UID: s.UID, UniqueID: "snapshot-" + string(s.UID), Record: s.Record, PowerState: v.PowerState})
	}), nil
}

// RemoveSnapshot implements driver.Machine.
func (m machine) RemoveSnapshot(_ driver.Identity, s provider.SnapshotRequest) driver.Operation {
	return m.operation(driver.KindRemoveSnapshot, func(v *VM) {
		v.Snapshots = slices.DeleteFunc(slices.Clone(v.Snapshots), func(o Snapshot) bool { return o.UID == s.UID })
	})
}

// Revert implements driver.Machine.
func (m machine) Revert(_ driver.Identity, to provider.RevertTarget) driver.Operation {
	return driver.Operation{Kind: driver.KindRevert, Run: func(ctx context.Context) error {
		return m.driver.run(ctx, driver.KindRevert, func() error {
			v := m.driver.vms[m.id]
			if v == nil {
				return nil
			}
			for _, s := range v.Snapshots {
				if s.UID != to.UID {
					continue
				}
				if to.Admit != nil {
					if err := to.Admit(ctx, s.Record); err != nil {
						return err
					}
				}
				v.PowerState, v.Kept = s.PowerState, &provider.StoredSnapshotRecord{UID: s.UID, Record: s.Record}
			}
			return nil
		})
	}}
}

// DropSnapshotRecord implements driver.Machine.
func (m machine) DropSnapshotRecord() driver.Operation {
	op := m.operation(driver.KindReconfigure, func(v *VM) { v.Kept = nil })
	op.Detail = "drop snapshot record"
	return op
}

// Unregister implements driver.Machine.
func (m machine) Unregister(id driver.Identity) driver.Operation { return m.Destroy(id) }

func (m machine) power(kind driver.Kind, mode vmv1alpha1.PowerOpMode, change func(*VM)) driver.Operation {
	op := m.operation(kind, change)
	op.Detail, op.WaitsForGuest = string(mode), mode != vmv1alpha1.PowerOpModeHard
	return op
}

func (m machine) operation(kind driver.Kind, change func(*VM)) driver.Operation {
	return m.driver.operation(kind, func() error {
		if vm := m.driver.vms[m.id]; vm != nil {
			change(vm)
		}
		return nil
	})
}

func apply(v *VM, changes []driver.Difference) {
	for _, c := range changes {
		if v.Stubborn {
			return
		}
		c.Change.(func(*VM))(v)
	}
}
