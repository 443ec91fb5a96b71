// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// testSetup is a powered-on, synchronized VM with 2 CPUs and 1Gi of memory.
type testSetup struct {
	vm        *vmv1alpha1.VirtualMachine
	effective *vmv1alpha1.VirtualMachineInstanceSpec
	observed  *mo.VirtualMachine
}

func newTestSetup() *testSetup {
	s := &testSetup{
		vm: &vmv1alpha1.VirtualMachine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid", Generation: 3},
			Spec:       vmv1alpha1.VirtualMachineSpec{PowerState: vmv1alpha1.PoweredOn},
		},
		effective: &vmv1alpha1.VirtualMachineInstanceSpec{
			CPU:    &vmv1alpha1.VirtualMachineCPU{Sockets: 2},
			Memory: &vmv1alpha1.VirtualMachineMemory{Guest: ptr(resource.MustParse("1Gi"))},
		},
		observed: &mo.VirtualMachine{},
	}
	s.observed.Name = "web"
	s.observed.Self.Value = "vm-1"
	s.observed.ResourcePool = &types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-1"}
	s.observed.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	s.observed.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	s.observed.Config = &types.VirtualMachineConfigInfo{
		InstanceUuid: "uid", ChangeVersion: "1", Hardware: types.VirtualHardware{NumCPU: 2, MemoryMB: 1024},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: "ns/web/uid"}},
	}
	return s
}

func (s *testSetup) power(state types.VirtualMachinePowerState) {
	s.observed.Runtime.PowerState = state
}

func (s *testSetup) input() plan.Input {
	d := &Driver{session: &session.Session{}, inventory: inventory.New(inventory.Options{})}
	w := desiredState(s.vm, s.effective)
	m := d.machine(s.observed)
	return plan.Input{VM: s.vm, Want: w, Machine: m, Observation: m.Observe(w), Now: now}
}

// desiredState returns the desired state of vm.
func desiredState(vm *vmv1alpha1.VirtualMachine, effective *vmv1alpha1.VirtualMachineInstanceSpec) *driver.Desired {
	return &driver.Desired{Desired: provider.Desired{Effective: effective}, Identity: driver.Identity{Key: k8stypes.NamespacedName{Namespace: vm.Namespace, Name: vm.Name}, UID: string(vm.UID), InstanceUUID: string(vm.UID)}, Name: vm.Name}
}

const poweredOff = types.VirtualMachinePowerStatePoweredOff

// later is one hour after now.
var later = now.Add(time.Hour).Format(time.RFC3339)

// planned is the expected result of a plan.
type planned struct {
	kind    driver.Kind
	mode    vmv1alpha1.PowerOpMode
	synced  string // PowerStateSynced
	config  string // ConfigurationSynced
	requeue time.Duration
	fails   bool
	restart []string
}

// plans are the cases of TestPlan_DecidesFromInventory.
var plans = []struct {
	name  string
	setup func(*testSetup)
	want  planned
}{
	{"as desired", func(*testSetup) {}, planned{synced: "True Succeeded", config: "True Succeeded"}},
	{"delay with an invalid time", func(s *testSetup) {
		s.power(poweredOff)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: "soon"}
	}, planned{synced: "False Invalid", config: "True Succeeded", fails: true}},
	{"power chart: in a group, power on, not delayed", func(s *testSetup) { s.power(poweredOff); s.joinGroup(vmv1alpha1.PoweredOn) },
		planned{kind: driver.KindPowerOn, synced: "False PoweringOn", config: "True Succeeded"}},
	{"power chart: in a group, power on, delayed", func(s *testSetup) {
		s.power(poweredOff)
		s.joinGroup(vmv1alpha1.PoweredOn)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: later}
	}, planned{synced: "False Delayed", config: "True Succeeded", requeue: time.Hour}},
	{"power chart: in a group, power on, its time has arrived", func(s *testSetup) {
		s.power(poweredOff)
		s.joinGroup(vmv1alpha1.PoweredOn)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: now.Format(time.RFC3339)}
	}, planned{kind: driver.KindPowerOn, synced: "False PoweringOn", config: "True Succeeded"}},
	{"power chart: in a group, not power on", func(s *testSetup) {
		s.joinGroup(vmv1alpha1.PoweredOff)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: later}
	}, planned{kind: driver.KindPowerOff, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False PoweringOff", config: "True Succeeded"}},
	{"a group without a power state, powered on", func(s *testSetup) { s.joinGroup("") }, planned{synced: "True Succeeded", config: "True Succeeded"}},
	{"a group without a power state, powered off", func(s *testSetup) { s.power(poweredOff); s.joinGroup("") }, planned{synced: "True Succeeded", config: "True Succeeded"}},
	{"a suspended group, powered off", func(s *testSetup) { s.power(poweredOff); s.joinGroup(vmv1alpha1.Suspended) },
		planned{synced: "True Succeeded", config: "True Succeeded"}},
	{"a suspended group, powered on", func(s *testSetup) { s.joinGroup(vmv1alpha1.Suspended) },
		planned{kind: driver.KindSuspend, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False Suspending", config: "True Succeeded"}},
	{"configuration precedes power on", func(s *testSetup) { s.power(poweredOff); s.effective.CPU.Sockets = 4 },
		planned{kind: driver.KindReconfigure, synced: "False PoweringOn", config: "False InProgress"}},
	{"a running VM keeps its size", func(s *testSetup) { s.effective.CPU.Sockets = 4 },
		planned{synced: "True Succeeded", config: "False RestartRequired", restart: []string{"cpu.sockets"}}},
	{"shares are applied live", func(s *testSetup) { s.effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh} },
		planned{kind: driver.KindReconfigure, synced: "True Succeeded", config: "False InProgress"}},
	{"Stage defers live changes", func(s *testSetup) {
		s.effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
		s.vm.Spec.UpdateStrategy = vmv1alpha1.UpdateStrategyStage
	}, planned{synced: "True Succeeded", config: "False RestartRequired", restart: []string{"cpu.shares"}}},
	{"hot add is applied live", func(s *testSetup) {
		s.observed.Config.CpuHotAddEnabled = ptr(true)
		s.effective.CPU.Sockets, s.effective.CPU.HotAddEnabled = 4, ptr(true)
	}, planned{kind: driver.KindReconfigure, synced: "True Succeeded", config: "False InProgress"}},
	{"an unsupported setting prevents power on", func(s *testSetup) {
		s.power(poweredOff)
		s.effective.CPU.ExposeVNUMA, s.effective.CPU.HotAddEnabled = ptr(true), ptr(true)
	}, planned{synced: "False WaitingForPrerequisites", config: "False Invalid", fails: true}},
	{"an unsupported setting does not prevent power off", func(s *testSetup) {
		s.effective.CPU.ExposeVNUMA, s.effective.CPU.HotAddEnabled = ptr(true), ptr(true)
		s.vm.Spec.PowerState = vmv1alpha1.PoweredOff
	}, planned{kind: driver.KindPowerOff, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False PoweringOff", config: "False Invalid", fails: true, restart: []string{"cpu.hotAddEnabled"}}},
	{"not connected", func(s *testSetup) {
		s.power(poweredOff)
		s.observed.Runtime.ConnectionState = types.VirtualMachineConnectionStateDisconnected
	}, planned{synced: "Unknown UnknownState", config: "Unknown UnknownState", fails: true}},
	{"a template", func(s *testSetup) {
		s.power(poweredOff)
		s.observed.ResourcePool = nil
	}, planned{synced: "Unknown UnknownState", config: "Unknown UnknownState", fails: true}},
	{"a completed restart", func(s *testSetup) {
		s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano)
		s.observed.Config.ExtraConfig = append(s.observed.Config.ExtraConfig, &types.OptionValue{Key: observe.LastRestartKey, Value: now.Format(time.RFC3339Nano)})
	}, planned{synced: "True Succeeded", config: "True Succeeded"}},
	{"power on counts as the restart", func(s *testSetup) { s.power(poweredOff); s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano) },
		planned{kind: driver.KindReconfigure, synced: "False PoweringOn", config: "False InProgress"}},
	{"a revert to a missing snapshot", func(s *testSetup) { s.vm.Spec.CurrentSnapshotName = "snap" },
		planned{synced: "True Succeeded", config: "True Succeeded"}},
}

// joinGroup makes the VM a member of a group that requests a power state.
func (s *testSetup) joinGroup(state vmv1alpha1.PowerState) {
	s.vm.Spec.GroupName, s.vm.Spec.PowerState, s.vm.Status.InheritedPowerState = "shop", "", state
}

func TestPlan_DecidesFromInventory(t *testing.T) {
	for _, tc := range plans {
		t.Run(tc.name, func(t *testing.T) {
			s := newTestSetup()
			tc.setup(s)
			before := s.vm.DeepCopy()
			next, err := plan.Make(s.input())
			st, op := applyResult(next.Result, s.vm), next.Operation
			if diff := cmp.Diff(before, s.vm); diff != "" {
				t.Errorf("Plan changed its input (-before +after):\n%s", diff)
			}
			got := planned{synced: condition(st, vmv1alpha1.ConditionPowerStateSynced), config: condition(st, vmv1alpha1.ConditionConfigurationSynced)}
			if op != nil {
				mode, _, _ := strings.Cut(op.Detail, " ")
				got.kind, got.mode = op.Kind, vmv1alpha1.PowerOpMode(mode)
			}
			got.requeue, _ = provider.AsRequeue(err)
			got.fails = provider.IsNoRequeue(err)
			for _, r := range st.RestartRequired {
				got.restart = append(got.restart, r.Path)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(planned{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s\nerror: %v", diff, err)
			}
		})
	}
}

func condition(st vmv1alpha1.VirtualMachineStatus, conditionType string) string {
	c := meta.FindStatusCondition(st.Conditions, conditionType)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestRestart_AppliesPendingChanges(t *testing.T) {
	s := newTestSetup()
	s.effective.CPU.Sockets = 4
	s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano)
	next, err := plan.Make(s.input())
	if err != nil || next.Operation == nil {
		t.Fatalf("plan = %+v, %v; want a restart", next, err)
	}
	if spec := configspec.Spec(ownChanges(next.Operation.Changes)); spec.NumCPUs != 4 {
		t.Errorf("the restart sets %d CPUs, want 4", spec.NumCPUs)
	}
	record := configspec.RecordRestart(now).ExtraConfig[0].GetOptionValue()
	if record.Key != observe.LastRestartKey || record.Value != now.Format(time.RFC3339Nano) {
		t.Errorf("recorded restart = %v, want the time of the request", record)
	}
}

// applyResult returns the status of vm after a result is applied.
func applyResult(r provider.Result, vm *vmv1alpha1.VirtualMachine) vmv1alpha1.VirtualMachineStatus {
	st := *vm.Status.DeepCopy()
	r.Apply(&st, vm.Generation, now)
	return st
}

// F143: restartRequired is computed only from a successful comparison.
func TestRestartRequired_IsKeptWhileTheSpecIsUnresolved(t *testing.T) {
	s := newTestSetup()
	s.effective.CPU.Cores = 2
	next, err := plan.Make(s.input())
	st := applyResult(next.Result, s.vm)
	if err != nil || len(st.RestartRequired) == 0 {
		t.Fatalf("restartRequired %v, error %v; want cpu.cores", st.RestartRequired, err)
	}
	s.vm.Status = st
	s.effective = nil
	next, err = plan.Make(s.input())
	unknown := applyResult(next.Result, s.vm)
	if err != nil || next.Operation != nil {
		t.Errorf("operation %+v, error %v; want none", next.Operation, err)
	}
	if diff := cmp.Diff(st.RestartRequired, unknown.RestartRequired); diff != "" {
		t.Errorf("restartRequired (-before +after):\n%s", diff)
	}
	if got := condition(unknown, vmv1alpha1.ConditionConfigurationSynced); got != "False WaitingForPrerequisites" {
		t.Errorf("condition %s, want False WaitingForPrerequisites", got)
	}
}
