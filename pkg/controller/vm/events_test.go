// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestTransitions_ReturnEventsOfChanges(t *testing.T) {
	const on, off, suspended = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended
	status := func(state vmv1alpha1.PowerState) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) { vm.Status.PowerState = state }
	}
	restarted := func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.LastRestartTime = &metav1.Time{Time: time.Unix(3000, 0)}
	}
	message := func(text string) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) {
			setFalse(vm, time.Unix(0, 0), vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound, text)
		}
	}
	inUse := func(by string) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) {
			setFalse(vm, time.Unix(0, 0), vmv1alpha1.ConditionVolumesReady, vmv1alpha1.ReasonInUse, "held by "+by)
		}
	}
	probes := func(status metav1.ConditionStatus, reason, message string) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) {
			setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionProbeSucceeded, status, reason, message)
		}
	}
	asks := func(text string) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) {
			setFalse(vm, time.Unix(0, 0), vmv1alpha1.ConditionQuestionsAnswered, vmv1alpha1.ReasonQuestionPending, text)
		}
	}
	bootstrapped := func(vm *vmv1alpha1.VirtualMachine) { setTrue(vm, time.Unix(0, 0), vmv1alpha1.ConditionBootstrapReady) }
	missing := func(reason string) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) {
			setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, reason, "vSphere does not show it")
		}
	}
	checkTransitions(t, map[string]transition{
		"missing":                  {nil, []change{missing(vmv1alpha1.ReasonMissing)}, []string{"Missing"}},
		"many missing":             {[]change{missing(vmv1alpha1.ReasonMissing)}, []change{missing(vmv1alpha1.ReasonManyMissing)}, []string{"ManyMissing"}},
		"a copy":                   {[]change{missing(vmv1alpha1.ReasonMissing)}, []change{missing(vmv1alpha1.ReasonCopyFound)}, []string{"CopyFound"}},
		"still missing":            {[]change{missing(vmv1alpha1.ReasonMissing)}, []change{missing(vmv1alpha1.ReasonMissing)}, nil},
		"nothing changed":          {nil, nil, nil},
		"created, powered off":     {[]change{withoutConditions, status("")}, []change{status(off)}, []string{"Created"}},
		"powered on":               {[]change{status(off)}, nil, []string{"PoweredOn"}},
		"powered off":              {nil, []change{status(off)}, []string{"PoweredOff"}},
		"suspended":                {nil, []change{status(suspended)}, []string{"Suspended"}},
		"resumed":                  {[]change{status(suspended)}, []change{status(on)}, []string{"Resumed"}},
		"restarted":                {nil, []change{restarted}, []string{"Restarted"}},
		"no zone":                  {nil, []change{failing(vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ReasonNoZone)}, []string{"PlacementNotReady"}},
		"restarted before":         {[]change{restarted}, []change{restarted}, nil},
		"failed":                   {nil, []change{failing(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonError)}, []string{"ConfigurationFailed"}},
		"power on in backoff":      {nil, []change{failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonBackOff)}, []string{"PowerStateFailed"}},
		"power failed":             {nil, []change{failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonError)}, []string{"PowerStateFailed"}},
		"create failed":            {nil, []change{failing(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonError)}, []string{"CreateFailed"}},
		"missing image":            {nil, []change{message("a")}, []string{"ImageNotReady"}},
		"no bootstrap data":        {nil, []change{failing(vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonNotFound)}, []string{"BootstrapNotReady"}},
		"wrong bootstrap data":     {[]change{failing(vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonNotFound)}, []change{failing(vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonInvalid)}, []string{"BootstrapNotReady"}},
		"bootstrap data available": {[]change{failing(vmv1alpha1.ConditionBootstrapReady, vmv1alpha1.ReasonInvalid)}, []change{bootstrapped}, []string{"BootstrapReady"}},
		"bootstrap data available from the start": {nil, []change{bootstrapped}, nil},
		"same failure, other words":               {[]change{message("a")}, []change{message("b")}, nil},
		"another holder":                          {[]change{inUse("a")}, []change{inUse("b")}, []string{"VolumesNotReady"}},
		"the same holder":                         {[]change{inUse("a")}, []change{inUse("a")}, nil},
		"waiting is no failure":                   {nil, []change{failing(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating)}, nil},
		"synchronizer":                            {nil, []change{failing(vmv1alpha1.ConditionSynchronized, vmv1alpha1.ReasonError)}, []string{"SynchronizeFailed"}},
		"copied, not linked": {nil, []change{func(vm *vmv1alpha1.VirtualMachine) {
			setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionImageCacheReady, metav1.ConditionTrue, vmv1alpha1.ReasonDirectInstead, "it encrypts")
		}}, []string{"DirectInstead"}},
		"probe succeeds":       {nil, []change{probes(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")}, []string{"ProbeSucceeded"}},
		"probe fails":          {[]change{probes(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")}, []change{probes(metav1.ConditionFalse, vmv1alpha1.ReasonNotReady, "refused")}, []string{"ProbeFailed"}},
		"probe fails for long": {[]change{probes(metav1.ConditionFalse, vmv1alpha1.ReasonNotReady, "refused")}, []change{probes(metav1.ConditionFalse, vmv1alpha1.ReasonNotReady, "silent")}, nil},
		"nothing is probed":    {[]change{probes(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")}, []change{probes(metav1.ConditionFalse, vmv1alpha1.ReasonPoweredOff, "off")}, nil},
		"a question":           {nil, []change{asks("moved or copied?")}, []string{"QuestionPending"}},
		"the same question":    {[]change{asks("moved or copied?")}, []change{asks("moved or copied?")}, nil},
		"another question":     {[]change{asks("moved or copied?")}, []change{asks("no more space")}, []string{"QuestionPending"}},
		"an answer":            {[]change{asks("moved or copied?")}, nil, []string{"QuestionAnswered"}},
		// F31 F41 F55: a Warning for a revision with other content, and for a conflict.
		"revision with other content": {nil, []change{failing(vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ReasonError)}, []string{"InstancetypeNotReady"}},
		"conflict":                    {nil, []change{failing(vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ReasonConflict)}, []string{"InstancetypeNotReady"}},
		"reported with the size":      {nil, []change{failing(vmv1alpha1.ConditionSynchronized, vmv1alpha1.ReasonNotFound), failing(vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ReasonNotFound)}, []string{"InstancetypeNotReady"}},
	})
}

func TestTransitions_ReportAFinishedRevert(t *testing.T) {
	asks := func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CurrentSnapshotName = "before"
		setFalse(vm, time.Unix(0, 0), vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "")
	}
	is := func(vm *vmv1alpha1.VirtualMachine) { setTrue(vm, time.Unix(0, 0), vmv1alpha1.ConditionSnapshotSynced) }
	checkTransitions(t, map[string]transition{
		"now":        {[]change{asks}, []change{is}, []string{"Reverted"}},
		"before":     {[]change{is}, []change{is}, nil},
		"taken back": {[]change{asks}, nil, nil},
	})
}

// The status gets the ID of a VM only when its create has ended, and a deletion does not read the VM that it destroys.
// A VM that belongs to another object is not deleted.
func TestTransitions_DescribeADeletion(t *testing.T) {
	const none = "The object is deleted; it has no virtual machine in vSphere"
	for name, tc := range map[string]struct {
		was, is     string
		annotations map[string]string
		want        string
	}{
		"deleted":                    {"vm-1", "vm-1", nil, "The vSphere virtual machine is deleted: vm-1"},
		"while it was being created": {"", "", nil, none},
		"of another object":          {"vm-1", "", nil, none},
		"out of reach": {"vm-1", "vm-1", map[string]string{vmv1alpha1.AnnotationUnregister: ""},
			"The vSphere virtual machine is deleted or, if vCenter could not reach it, unregistered as annotated: vm-1"},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := stable(), stable()
			old.Finalizers, now.Annotations = []string{vmv1alpha1.VirtualMachineFinalizer}, tc.annotations
			old.Status.UniqueID, now.Status.UniqueID = tc.was, tc.is
			if got := transitions(old, now); len(got) != 1 || got[0].reason != "Deleted" || got[0].note != tc.want {
				t.Errorf("events %+v, want one Deleted with %q", got, tc.want)
			}
		})
	}
}

type change = func(*vmv1alpha1.VirtualMachine)

// transition has two states of a stable virtual machine and the expected events.
type transition struct {
	before, after []change
	want          []string
}

func checkTransitions(t *testing.T, tests map[string]transition) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range transitions(stable(test.before...), stable(test.after...)) {
				got = append(got, e.reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvents_AreRecordedOnlyAfterTheWrite(t *testing.T) {
	h := newHarness(t, fresh(), photon())
	lifeOf(h)
	for range lifeSteps - 2 {
		h.mustReconcile() // until the power on has started
	}
	h.events.take()
	h.api.fail["update virtualmachines/status"] = errTest
	if _, err := h.tryReconcile(); !errors.Is(err, errTest) {
		t.Fatalf("error %v, want the write's error", err)
	}
	if got := h.events.take(); len(got) != 0 {
		t.Errorf("events %q of a state that was not written", got)
	}
	delete(h.api.fail, "update virtualmachines/status")
	h.mustReconcile()
	want := []string{"Normal PoweredOn: The virtual machine is powered on"}
	if diff := cmp.Diff(want, h.events.take()); diff != "" {
		t.Errorf("events of later writes (-want +got):\n%s", diff)
	}
}
