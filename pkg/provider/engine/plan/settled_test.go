// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// fakeMachine is a machine with the given differences. Its operations do nothing.
type fakeMachine struct {
	driver.Machine
	differs  []driver.Difference
	deviates []string
	refuses  bool
}

func (m fakeMachine) Compare(w *driver.Desired) driver.Comparison {
	c := driver.Comparison{Differences: m.differs, Deviations: m.deviates}
	if !w.Restarted.IsZero() {
		c.Differences = append(slices.Clone(m.differs), driver.Difference{Path: "nextRestartTime", Live: true, FirstBoot: true})
	}
	if m.refuses {
		c.Refused = driver.Refusals{Invalid: []string{"volumes[data]: it cannot be"}, Volumes: []string{"data"}}
	}
	return c
}

func (fakeMachine) Record() string { return "" }

func (fakeMachine) StoreRecord(r driver.Record) driver.Difference {
	return driver.Difference{Path: "metadata.record", Desired: r.Head.String(), Live: true, IsMetadata: true}
}

func (fakeMachine) MissingMetadata(*driver.Desired, int) []driver.Difference { return nil }

func (fakeMachine) Configure(changes []driver.Difference) driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure, Changes: changes}
}

func (fakeMachine) PowerOn() driver.Operation { return driver.Operation{Kind: driver.KindPowerOn} }

func (fakeMachine) PowerOff(mode vmv1alpha1.PowerOpMode, _ time.Duration) driver.Operation {
	return driver.Operation{Kind: driver.KindPowerOff, Detail: string(mode)}
}

func (fakeMachine) Suspend(mode vmv1alpha1.PowerOpMode, _ time.Duration) driver.Operation {
	return driver.Operation{Kind: driver.KindSuspend, Detail: string(mode)}
}

func (fakeMachine) Restart(r driver.Restart) driver.Operation {
	return driver.Operation{Kind: driver.KindRestart, Detail: string(r.Mode), Changes: r.Changes}
}

// runningMachine returns the input for a running machine without differences.
func runningMachine(change ...func(*Input)) Input {
	in := Input{
		VM:      &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{PowerState: vmv1alpha1.PoweredOn}},
		Want:    &driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{}}},
		Machine: fakeMachine{},
		Now:     time.Unix(1_700_000_000, 0),
	}
	in.Observation.Readable, in.Observation.PowerState = true, vmv1alpha1.PoweredOn
	for _, f := range change {
		f(&in)
	}
	return in
}

// The VirtualMachineInstance is updated when the configuration is settled. Other pending work of the plan must not
// delay this.
func TestMake_SetsSettledFromTheConfigurationOnly(t *testing.T) {
	differs := func(d driver.Difference) func(*Input) {
		return func(in *Input) { in.Machine = fakeMachine{differs: []driver.Difference{d}} }
	}
	for name, c := range map[string]struct {
		change  func(*Input)
		settled bool
	}{
		"as desired":                 {func(*Input) {}, true},
		"a scheduled restart":        {func(in *Input) { in.VM.Spec.NextRestartTime = in.Now.Add(time.Hour).Format(time.RFC3339) }, true},
		"a restart that is due":      {func(in *Input) { in.VM.Spec.NextRestartTime = in.Now.Format(time.RFC3339) }, true},
		"a snapshot to revert to":    {func(in *Input) { in.VM.Spec.CurrentSnapshotName = "before" }, true},
		"a change for a power cycle": {differs(driver.Difference{Path: "cpu.cores"}), true},
		"a live change":              {differs(driver.Difference{Path: "cpu.shares", Live: true}), false},
		"no effective spec":          {func(in *Input) { in.Want.Effective = nil }, false},
		"an unreachable machine":     {func(in *Input) { in.Observation.Trouble = "disconnected" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := Make(runningMachine(c.change))
			if got.Settled != c.settled {
				t.Errorf("settled = %t, want %t", got.Settled, c.settled)
			}
		})
	}
}

// The configuration step continues while the VM is powered off, so the power step must check itself whether the machine
// can be changed.
func TestMake_DoesNotPowerOffAnUnreachableVM(t *testing.T) {
	got, err := Make(runningMachine(func(in *Input) {
		in.VM.Spec.PowerState, in.Observation.Trouble = vmv1alpha1.PoweredOff, "its host is disconnected"
	}))
	if got.Operation != nil || !provider.IsNoRequeue(err) {
		t.Errorf("planned %+v with error %v, want no operation and a NoRequeueError", got.Operation, err)
	}
}

// A difference that matters only before the first power on requires no restart of a running VM.
func TestRestartRequired_OmitsFirstBootDifferences(t *testing.T) {
	got, err := Make(runningMachine(func(in *Input) {
		in.Machine = fakeMachine{differs: []driver.Difference{{Path: "bootstrap", Desired: "data", FirstBoot: true}, {Path: "cpu.cores", Desired: "4"}}}
	}))
	want := []vmv1alpha1.RestartRequirement{{Path: "cpu.cores", Desired: "4"}}
	if diff := cmp.Diff(want, got.RestartRequired); diff != "" || err != nil {
		t.Errorf("restartRequired (-want +got):\n%s, error %v", diff, err)
	}
}

func TestConfigurationSynced_IsNotTrueWhileSomethingIsPending(t *testing.T) {
	cores := driver.Difference{Path: "cpu.cores", Running: "2", Desired: "4"}
	removed := driver.Difference{Path: "volumes[old]", Running: "1Gi on ide"}
	deviates := []string{"volumes[data].bus sata (the disk is on pvscsi)"}
	for name, tc := range map[string]struct {
		machine fakeMachine
		want    string
	}{
		"as desired":                          {fakeMachine{}, "True Succeeded "},
		"a restart is needed":                 {fakeMachine{differs: []driver.Difference{cores}}, "False RestartRequired a power cycle is needed to change cpu.cores"},
		"a volume that a restart detaches":    {fakeMachine{differs: []driver.Difference{removed}}, "False RestartRequired a power cycle is needed to change volumes[old]"},
		"a deviation":                         {fakeMachine{deviates: deviates}, "False NotApplied volumes[data].bus sata (the disk is on pvscsi)"},
		"a deviation and a restart is needed": {fakeMachine{deviates: deviates, differs: []driver.Difference{cores}}, "False NotApplied volumes[data].bus sata (the disk is on pvscsi); a power cycle is needed to change cpu.cores"},
	} {
		got, err := Make(runningMachine(func(in *Input) { in.Machine = tc.machine }))
		c := meta.FindStatusCondition(got.Conditions, vmv1alpha1.ConditionConfigurationSynced)
		if err != nil || c == nil {
			t.Fatalf("%s: condition %v, error %v", name, c, err)
		}
		if summary := string(c.Status) + " " + c.Reason + " " + c.Message; summary != tc.want || !got.Settled {
			t.Errorf("%s: ConfigurationSynced = %q, settled %t; want %q, settled", name, summary, got.Settled, tc.want)
		}
	}
}
