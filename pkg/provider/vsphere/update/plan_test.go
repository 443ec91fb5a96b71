// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"errors"
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
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// scene is a VM with 2 CPUs and 1Gi that is on, as wanted.
type scene struct {
	vm        *vmv1alpha1.VirtualMachine
	effective *vmv1alpha1.VirtualMachineInstanceSpec
	observed  *mo.VirtualMachine
	held      *provider.RequeueError
}

// held is a reconfiguration that failed a moment ago.
var held = &provider.RequeueError{After: time.Minute, Reason: "vSphere refused"}

func newScene() *scene {
	s := &scene{
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
		InstanceUuid: "uid", Hardware: types.VirtualHardware{NumCPU: 2, MemoryMB: 1024},
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: observe.OwnerKey, Value: "ns/web/uid"}},
	}
	return s
}

func (s *scene) power(state types.VirtualMachinePowerState) { s.observed.Runtime.PowerState = state }

func (s *scene) input() Input {
	return Input{
		ConfigHeld: s.held, VM: s.vm, Effective: s.effective, Observed: s.observed, Facts: observe.Of(s.observed, nil), Now: now,
		Want: configspec.Want{
			Name: "web", InstanceUUID: "uid", Effective: s.effective,
			Owner: observe.Owner{Key: k8stypes.NamespacedName{Namespace: "ns", Name: "web"}, UID: "uid"},
		},
	}
}

const (
	poweredOff     = types.VirtualMachinePowerStatePoweredOff
	suspendedState = types.VirtualMachinePowerStateSuspended
)

// later is an hour from now.
var later = now.Add(time.Hour).Format(time.RFC3339)

// want is what a plan shall be.
type want struct {
	kind    operation.Kind
	mode    vmv1alpha1.PowerOpMode
	synced  string // PowerStateSynced
	config  string // ConfigurationSynced
	requeue time.Duration
	fails   bool
	restart []string
}

// plans are the cases of TestPlan.
var plans = []struct {
	name  string
	setup func(*scene)
	want  want
}{
	{"as desired", func(*scene) {}, want{synced: "True Succeeded", config: "True Succeeded"}},
	{"power on", func(s *scene) { s.power(poweredOff) },
		want{kind: operation.PowerOn, synced: "False PoweringOn", config: "True Succeeded"}},
	{"resume", func(s *scene) { s.power(suspendedState) },
		want{kind: operation.PowerOn, synced: "False PoweringOn", config: "True Succeeded"}},
	{"power off defaults to TrySoft", func(s *scene) { s.vm.Spec.PowerState = vmv1alpha1.PoweredOff },
		want{kind: operation.PowerOff, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False PoweringOff", config: "True Succeeded"}},
	{"a suspended guest is not asked", func(s *scene) {
		s.power(suspendedState)
		s.vm.Spec.PowerState, s.vm.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeSoft
	}, want{kind: operation.PowerOff, mode: vmv1alpha1.PowerOpModeHard, synced: "False PoweringOff", config: "True Succeeded"}},
	{"a refused configuration keeps no suspended guest", func(s *scene) {
		s.power(suspendedState)
		s.vm.Spec.PowerState = vmv1alpha1.PoweredOff
		s.effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{}}
	}, want{kind: operation.PowerOff, mode: vmv1alpha1.PowerOpModeHard, synced: "False PoweringOff", config: "False Invalid", fails: true}},
	{"suspend", func(s *scene) {
		s.vm.Spec.PowerState, s.vm.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	}, want{kind: operation.Suspend, mode: vmv1alpha1.PowerOpModeHard, synced: "False Suspending", config: "True Succeeded"}},
	{"suspend from off", func(s *scene) { s.power(poweredOff); s.vm.Spec.PowerState = vmv1alpha1.Suspended },
		want{synced: "False Invalid", config: "True Succeeded", fails: true}},
	{"delayed power on", func(s *scene) {
		s.power(poweredOff)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: later}
	}, want{synced: "False Delayed", config: "True Succeeded", requeue: time.Hour}},
	{"delay that has passed", func(s *scene) {
		s.power(poweredOff)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: now.Format(time.RFC3339)}
	}, want{kind: operation.PowerOn, synced: "False PoweringOn", config: "True Succeeded"}},
	{"delay that is no time", func(s *scene) {
		s.power(poweredOff)
		s.vm.Annotations = map[string]string{vmv1alpha1.AnnotationDelayedPowerOn: "soon"}
	}, want{synced: "False Invalid", config: "True Succeeded", fails: true}},
	{"configuration comes before power on", func(s *scene) { s.power(poweredOff); s.effective.CPU.Sockets = 4 },
		want{kind: operation.Reconfigure, config: "False InProgress"}},
	{"a running VM keeps its size", func(s *scene) { s.effective.CPU.Sockets = 4 },
		want{synced: "True Succeeded", config: "True RestartRequired", restart: []string{"cpu.sockets"}}},
	{"shares are live", func(s *scene) { s.effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh} },
		want{kind: operation.Reconfigure, config: "False InProgress"}},
	{"Stage defers what is live", func(s *scene) {
		s.effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
		s.vm.Spec.UpdateStrategy = vmv1alpha1.UpdateStrategyStage
	}, want{synced: "True Succeeded", config: "True RestartRequired", restart: []string{"cpu.shares"}}},
	{"hot add is live", func(s *scene) {
		s.observed.Config.CpuHotAddEnabled = ptr(true)
		s.effective.CPU.Sockets, s.effective.CPU.HotAddEnabled = 4, ptr(true)
	}, want{kind: operation.Reconfigure, config: "False InProgress"}},
	{"powering off does not wait for a live change", func(s *scene) {
		s.effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
		s.vm.Spec.PowerState = vmv1alpha1.PoweredOff
	}, want{kind: operation.PowerOff, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False PoweringOff", config: "True Succeeded"}},
	{"what is not supported forbids power on", func(s *scene) {
		s.power(poweredOff)
		s.effective.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data"}}
	}, want{config: "False Invalid", fails: true}},
	{"what is not supported does not forbid power off", func(s *scene) {
		s.effective.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data"}}
		s.vm.Spec.PowerState = vmv1alpha1.PoweredOff
	}, want{kind: operation.PowerOff, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False PoweringOff", config: "False Invalid", fails: true}},
	{"no effective spec, power off", func(s *scene) { s.effective = nil; s.vm.Spec.PowerState = vmv1alpha1.PoweredOff },
		want{kind: operation.PowerOff, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False PoweringOff", config: "False WaitingForPrerequisites"}},
	{"no effective spec, power on", func(s *scene) { s.effective = nil; s.power(poweredOff) },
		want{synced: "False WaitingForPrerequisites", config: "False WaitingForPrerequisites"}},
	{"not connected", func(s *scene) {
		s.power(poweredOff)
		s.observed.Runtime.ConnectionState = types.VirtualMachineConnectionStateDisconnected
	}, want{config: "Unknown UnknownState", fails: true}},
	{"a configuration that just failed, suspend", func(s *scene) {
		s.effective.CPU.Shares, s.held = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}, held
		s.vm.Spec.PowerState, s.vm.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	}, want{kind: operation.Suspend, mode: vmv1alpha1.PowerOpModeHard, synced: "False Suspending", config: "False Error", requeue: time.Minute}},
	{"a configuration that just failed, restart", func(s *scene) {
		s.effective.CPU.Shares, s.held = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}, held
		s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano)
	}, want{kind: operation.Restart, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False Restarting", config: "False Error", requeue: time.Minute}},
	{"a configuration that just failed, nothing else", func(s *scene) {
		s.effective.CPU.Shares, s.held = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}, held
	}, want{synced: "True Succeeded", config: "False Error", requeue: time.Minute}},
	{"a configuration that just failed, power on", func(s *scene) {
		s.power(poweredOff)
		s.effective.CPU.Sockets, s.held = 4, held
	}, want{synced: "False WaitingForPrerequisites", config: "False Error", requeue: time.Minute}},
	{"a template", func(s *scene) {
		s.power(poweredOff)
		s.observed.ResourcePool = nil
	}, want{config: "Unknown UnknownState", fails: true}},
	{"restart", func(s *scene) { s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano) },
		want{kind: operation.Restart, mode: vmv1alpha1.PowerOpModeTrySoft, synced: "False Restarting", config: "True Succeeded"}},
	{"restart that was done", func(s *scene) {
		s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano)
		s.observed.Config.ExtraConfig = append(s.observed.Config.ExtraConfig, &types.OptionValue{Key: observe.LastRestartKey, Value: now.Format(time.RFC3339Nano)})
	}, want{synced: "True Succeeded", config: "True Succeeded"}},
	{"restart at a later time", func(s *scene) { s.vm.Spec.NextRestartTime = later },
		want{synced: "True Succeeded", config: "True Succeeded", requeue: time.Hour}},
	{"power on counts as the restart", func(s *scene) { s.power(poweredOff); s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano) },
		want{kind: operation.Reconfigure, config: "False InProgress"}},
	{"a snapshot to revert to is refused", func(s *scene) { s.vm.Spec.CurrentSnapshotName = "snap" },
		want{synced: "True Succeeded", config: "True Succeeded", fails: true}},
}

func TestPlan(t *testing.T) {
	for _, tc := range plans {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene()
			tc.setup(s)
			before := s.vm.DeepCopy()
			st, op, err := Plan(s.input())
			if diff := cmp.Diff(before, s.vm); diff != "" {
				t.Errorf("Plan changed its input (-before +after):\n%s", diff)
			}
			got := want{synced: condition(st, vmv1alpha1.ConditionPowerStateSynced), config: condition(st, vmv1alpha1.ConditionConfigurationSynced)}
			if op != nil {
				got.kind, got.mode = op.Kind, op.Mode
			}
			got.requeue, _ = provider.AsRequeue(err)
			got.fails = provider.IsNoRequeue(err)
			for _, r := range st.RestartRequired {
				got.restart = append(got.restart, r.Path)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s\nerror: %v", diff, err)
			}
		})
	}
}

func condition(st vmv1alpha1.VirtualMachineStatus, kind string) string {
	c := meta.FindStatusCondition(st.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestARestartAppliesWhatWaitsForAPowerCycle(t *testing.T) {
	s := newScene()
	s.effective.CPU.Sockets = 4
	s.vm.Spec.NextRestartTime = now.Format(time.RFC3339Nano)
	_, op, err := Plan(s.input())
	if err != nil || op == nil || op.Spec == nil || op.Spec.NumCPUs != 4 {
		t.Fatalf("Plan = %+v, %v; want a restart that sets 4 CPUs", op, err)
	}
	record := op.Record.ExtraConfig[0].GetOptionValue()
	if record.Key != observe.LastRestartKey || record.Value != now.Format(time.RFC3339Nano) {
		t.Errorf("record = %v, want the time of the request", record)
	}
}

func TestEachErrorFollowsItsRule(t *testing.T) {
	retry, stop := errors.New("again"), &provider.NoRequeueError{Err: errors.New("never")}
	op := &Operation{Kind: operation.PowerOn}
	fail := func(err error) func(*Input, *vmv1alpha1.VirtualMachineStatus) (*Operation, error) {
		return func(*Input, *vmv1alpha1.VirtualMachineStatus) (*Operation, error) { return nil, err }
	}
	saved := steps
	defer func() { steps = saved }()
	for _, tc := range []struct {
		name    string
		step    string
		err     error
		off     bool
		reaches bool
	}{
		{"schema, retry", "schema upgrade", retry, false, true},
		{"schema, no retry", "schema upgrade", stop, false, false},
		{"config, retry", "config", retry, false, true},
		{"config, no retry", "config", stop, false, false},
		{"config, no retry, powering off", "config", stop, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			steps = nil
			for _, s := range saved {
				run := nothingAsked
				switch s.name {
				case tc.step:
					run = fail(tc.err)
				case "power state":
					run = func(*Input, *vmv1alpha1.VirtualMachineStatus) (*Operation, error) { return op, nil }
				}
				steps = append(steps, step{s.name, run})
			}
			s := newScene()
			if tc.off {
				s.vm.Spec.PowerState = vmv1alpha1.PoweredOff
			}
			_, got, err := Plan(s.input())
			if (got == op) != tc.reaches {
				t.Errorf("power state reached: %v, want %v", got == op, tc.reaches)
			}
			if !errors.Is(err, tc.err) {
				t.Errorf("error = %v, want %v to be reported", err, tc.err)
			}
		})
	}
}
