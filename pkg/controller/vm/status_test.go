// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/probe"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func failing(conditionType, reason string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { setFalse(vm, time.Unix(0, 0), conditionType, reason, "why") }
}

func unknown(conditionType, reason string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		setCondition(vm, time.Unix(0, 0), conditionType, metav1.ConditionUnknown, reason, "why")
	}
}

func TestStatus_SummarizesConditionsAndPowerState(t *testing.T) {
	const on, off, suspended = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended
	type change = func(*vmv1alpha1.VirtualMachine)
	created := vmv1alpha1.ConditionCreated
	tests := map[string]struct {
		changes   []change
		phase     vmv1alpha1.VirtualMachinePhase
		printable string
		ready     string
	}{
		"running":                   {nil, vmv1alpha1.PhaseRunning, "Running", "True/Succeeded"},
		"new":                       {[]change{withoutConditions}, vmv1alpha1.PhasePending, "Pending", "False/WaitingForPrerequisites"},
		"no image":                  {[]change{failing(created, vmv1alpha1.ReasonWaitingForPrerequisites), failing(vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound)}, vmv1alpha1.PhasePending, "ImageNotFound", "False/WaitingForPrerequisites"},
		"the size takes precedence": {[]change{failing(created, vmv1alpha1.ReasonWaitingForPrerequisites), failing(vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound), failing(vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ReasonConflict)}, vmv1alpha1.PhasePending, "InstancetypeConflict", "False/WaitingForPrerequisites"},
		"waiting for a slot":        {[]change{failing(created, vmv1alpha1.ReasonTooManyCreates)}, vmv1alpha1.PhasePending, "Pending", "False/TooManyCreates"},
		"creating":                  {[]change{failing(created, vmv1alpha1.ReasonCreating)}, vmv1alpha1.PhaseCreating, "Creating", "False/Creating"},
		"create failed":             {[]change{failing(created, vmv1alpha1.ReasonError)}, vmv1alpha1.PhaseFailed, "CreateFailed", "False/Error"},
		"powering on":               {[]change{power(on, off)}, vmv1alpha1.PhaseStarting, "Starting", "False/PoweringOn"},
		"resuming":                  {[]change{power(on, suspended)}, vmv1alpha1.PhaseStarting, "Starting", "False/PoweringOn"},
		"power on failed":           {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonError)}, vmv1alpha1.PhaseStarting, "PowerStateError", "False/Error"},
		"power on delayed":          {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonDelayed)}, vmv1alpha1.PhaseStopped, "PowerStateDelayed", "False/Delayed"},
		"suspend while off":         {[]change{power(suspended, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonInvalid)}, vmv1alpha1.PhaseStopped, "PowerStateInvalid", "False/Invalid"},
		"size refused":              {[]change{failing(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInvalid)}, vmv1alpha1.PhaseRunning, "ConfigurationInvalid", "True/Succeeded"},
		"runs, size is lost":        {[]change{failing(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites), failing(vmv1alpha1.ConditionInstancetypeReady, vmv1alpha1.ReasonNotFound)}, vmv1alpha1.PhaseRunning, "InstancetypeNotFound", "True/Succeeded"},
		"runs, image is deleted": {[]change{
			failing(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonWaitingForPrerequisites), failing(vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound),
			failing(vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ReasonNoZone), failing(vmv1alpha1.ConditionStorageReady, vmv1alpha1.ReasonNotFound),
		}, vmv1alpha1.PhaseRunning, "StorageNotFound", "True/Succeeded"},
		"vCenter is unreachable":      {[]change{unknown(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonUnreachable)}, vmv1alpha1.PhaseRunning, "Unreachable", "Unknown/Unreachable"},
		"new, vCenter is unreachable": {[]change{withoutConditions, unknown(created, vmv1alpha1.ReasonUnreachable)}, vmv1alpha1.PhaseUnknown, "Unreachable", "False/Unreachable"},
		"new, zone is unreachable":    {[]change{failing(created, vmv1alpha1.ReasonWaitingForPrerequisites), unknown(vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ReasonUnreachable)}, vmv1alpha1.PhasePending, "Unreachable", "False/WaitingForPrerequisites"},
		"power on in backoff":         {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonBackOff)}, vmv1alpha1.PhaseStarting, "PowerStateBackOff", "False/BackOff"},
		"guest has shut down":         {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonGuestShutdown)}, vmv1alpha1.PhaseStopped, "PowerStateGuestShutdown", "False/GuestShutdown"},
		"start is required":           {[]change{power(on, off), failing(vmv1alpha1.ConditionPowerStateSynced, vmv1alpha1.ReasonStartRequired)}, vmv1alpha1.PhaseStopped, "PowerStateStartRequired", "False/StartRequired"},
		"size is changed":             {[]change{failing(vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ReasonInProgress)}, vmv1alpha1.PhaseRunning, "Running", "True/Succeeded"},
		"create failed, network":      {[]change{failing(created, vmv1alpha1.ReasonError), failing(vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ReasonNotFound)}, vmv1alpha1.PhaseFailed, "NetworkNotFound", "False/Error"},
		"powering off":                {[]change{power(off, on)}, vmv1alpha1.PhaseStopping, "Stopping", "False/PoweringOff"},
		"suspending":                  {[]change{power(suspended, on)}, vmv1alpha1.PhaseStopping, "Stopping", "False/Suspending"},
		"powered off":                 {[]change{power(off, off)}, vmv1alpha1.PhaseStopped, "Stopped", "True/PoweredOff"},
		"suspended":                   {[]change{power(suspended, suspended)}, vmv1alpha1.PhaseSuspended, "Suspended", "True/Succeeded"},
		"no address yet":              {[]change{ips("", "")}, vmv1alpha1.PhaseRunning, "WaitingForIP", "False/WaitingForIP"},
		"needs restart": {[]change{func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.RestartRequired = []vmv1alpha1.RestartRequirement{{Path: "cpu.cores"}}
		}}, vmv1alpha1.PhaseRunning, "RestartRequired", "True/Succeeded"},
		"not reachable": {[]change{func(vm *vmv1alpha1.VirtualMachine) {
			setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionConfigurationSynced, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "inaccessible")
		}}, vmv1alpha1.PhaseRunning, "Unreachable", "Unknown/UnknownState"},
		"paused": {[]change{func(vm *vmv1alpha1.VirtualMachine) {
			setCondition(vm, time.Unix(0, 0), vmv1alpha1.ConditionPaused, metav1.ConditionTrue, vmv1alpha1.ReasonPaused, "")
		}}, vmv1alpha1.PhaseRunning, "Paused", "True/Succeeded"},
		"deleting": {[]change{deleting}, vmv1alpha1.PhaseDeleting, "Deleting", "True/Succeeded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			vm := stable(test.changes...)
			setReady(vm, metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}, time.Unix(0, 0))
			summarize(vm)
			if vm.Status.Phase != test.phase || vm.Status.PrintableStatus != test.printable {
				t.Errorf("phase %s, printableStatus %s; want %s, %s", vm.Status.Phase, vm.Status.PrintableStatus, test.phase, test.printable)
			}
			ready := findCondition(vm, vmv1alpha1.ConditionReady)
			if got := string(ready.Status) + "/" + ready.Reason; got != test.ready {
				t.Errorf("Ready is %s, want %s", got, test.ready)
			}
		})
	}
}

// answer is a prober with one result.
type answer struct{ known, ready bool }

func (answer) Add(*vmv1alpha1.VirtualMachine)                                                   {}
func (answer) Remove(types.NamespacedName)                                                      {}
func (answer) Run(context.Context, func(types.NamespacedName) bool, func(types.NamespacedName)) {}
func (a answer) Result(types.NamespacedName) (ready, known bool, message string) {
	return a.ready, a.known, "refused"
}

func TestStatus_ReadinessDependsOnTheGuest(t *testing.T) {
	guest := func(tools bool, heartbeat vmv1alpha1.GuestHeartbeatStatus) *vmv1alpha1.VirtualMachineGuestStatus {
		return &vmv1alpha1.VirtualMachineGuestStatus{ToolsRunning: tools, Heartbeat: heartbeat}
	}
	heart := func(threshold vmv1alpha1.GuestHeartbeatStatus) *vmv1alpha1.VirtualMachineReadinessProbe {
		return &vmv1alpha1.VirtualMachineReadinessProbe{GuestHeartbeat: &vmv1alpha1.GuestHeartbeatAction{ThresholdStatus: threshold}}
	}
	tcp := &vmv1alpha1.VirtualMachineReadinessProbe{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22}}
	info := func(pairs ...string) *vmv1alpha1.VirtualMachineReadinessProbe {
		p := &vmv1alpha1.VirtualMachineReadinessProbe{}
		for i := 0; i < len(pairs); i += 2 {
			p.GuestInfo = append(p.GuestInfo, vmv1alpha1.GuestInfoAction{Key: pairs[i], Value: pairs[i+1]})
		}
		return p
	}
	tests := map[string]struct {
		wait   bool
		probe  *vmv1alpha1.VirtualMachineReadinessProbe
		guest  *vmv1alpha1.VirtualMachineGuestStatus
		prober probe.Connections
		// variables has the guest's variables. It is nil if they could not be read.
		variables map[string]string
		want      string
	}{
		"no probe":                       {want: "True/Succeeded"},
		"waits for tools, nothing known": {wait: true, want: "False/WaitingForTools"},
		"waits for tools, not running":   {wait: true, guest: guest(false, ""), want: "False/WaitingForTools"},
		"waits for tools, running":       {wait: true, guest: guest(true, ""), want: "True/Succeeded"},
		"heartbeat green":                {probe: heart(""), guest: guest(true, vmv1alpha1.GuestHeartbeatGreen), want: "True/Succeeded"},
		"heartbeat yellow":               {probe: heart(""), guest: guest(true, vmv1alpha1.GuestHeartbeatYellow), want: "False/NotReady"},
		"heartbeat yellow suffices":      {probe: heart(vmv1alpha1.GuestHeartbeatYellow), guest: guest(true, vmv1alpha1.GuestHeartbeatYellow), want: "True/Succeeded"},
		"heartbeat without tools":        {probe: heart(""), want: "False/WaitingForTools"},
		"heartbeat not known":            {probe: heart(""), guest: guest(true, ""), want: "False/NotReady"},
		"socket, no prober":              {probe: tcp, want: "Unknown/Unsupported"},
		"socket, no result yet":          {probe: tcp, prober: answer{}, want: "Unknown/NotReady"},
		"socket, not ready":              {probe: tcp, prober: answer{known: true}, want: "False/NotReady"},
		"socket, ready":                  {probe: tcp, prober: answer{known: true, ready: true}, want: "True/Succeeded"},
		"variable not read yet":          {probe: info("state", "up"), guest: guest(true, ""), want: "Unknown/NotReady"},
		"variable not set":               {probe: info("state", "up"), guest: guest(true, ""), variables: map[string]string{}, want: "False/NotReady"},
		"variable, any value":            {probe: info("state", ""), guest: guest(true, ""), variables: map[string]string{"state": "down"}, want: "True/Succeeded"},
		"variable, wrong value":          {probe: info("state", "up"), guest: guest(true, ""), variables: map[string]string{"state": "not up"}, want: "False/NotReady"},
		"variable, right value":          {probe: info("state", "up|ready"), guest: guest(true, ""), variables: map[string]string{"state": "ready"}, want: "True/Succeeded"},
		"one variable of two":            {probe: info("state", "up", "role", "db"), guest: guest(true, ""), variables: map[string]string{"state": "up"}, want: "False/NotReady"},
		"both variables":                 {probe: info("state", "up", "role", "d."), guest: guest(true, ""), variables: map[string]string{"state": "up", "role": "db"}, want: "True/Succeeded"},
		"variable that is too long":      {probe: info("state", ".*"), guest: guest(true, ""), variables: map[string]string{"state": strings.Repeat("a", 4097)}, want: "False/NotReady"},
		"expression stored before":       {probe: info("state", "(?:(?:ab){30}){30}"), guest: guest(true, ""), variables: map[string]string{"state": "up"}, want: "False/NotReady"},
		"variable without tools":         {probe: info("state", "up"), variables: map[string]string{"state": "up"}, want: "False/WaitingForTools"},
		"probe without an action":        {probe: &vmv1alpha1.VirtualMachineReadinessProbe{}, want: "True/Succeeded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			vm := stable()
			vm.Spec.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{WaitForTools: test.wait}
			vm.Spec.ReadinessProbe, vm.Status.Guest = test.probe, test.guest
			state := step.State{VM: vm}
			if test.variables != nil {
				state.Observed.Observation = &provider.Observation{GuestInfo: test.variables}
			}
			report, err := (&probe.Reconciler{Connections: test.prober}).Reconcile(t.Context(), state)
			if err != nil {
				t.Fatal(err)
			}
			setReady(vm, report.Result, time.Unix(0, 0))
			ready := findCondition(vm, vmv1alpha1.ConditionReady)
			if got := string(ready.Status) + "/" + ready.Reason; got != test.want {
				t.Errorf("Ready is %s, want %s", got, test.want)
			}
			ofProbe := test.prober == nil && (ready.Reason == vmv1alpha1.ReasonUnsupported || ready.Reason == vmv1alpha1.ReasonNotReady)
			if ofProbe && !strings.HasPrefix(ready.Message, "spec.readinessProbe.") {
				t.Errorf("Ready has message %q without the field", ready.Message)
			}
		})
	}
}

// The arrows after "power on" in the chart of the power state. No worker waits: a change that the guest reports is an
// event of vSphere, which queues the VM.
func TestPowerState_WaitsForToolsAfterPowerOn(t *testing.T) {
	for arrow, test := range map[string]struct {
		wait, running bool
		ready, status string
	}{
		"wait for Tools, no: power state reconciled":  {ready: "True/Succeeded", status: "Running"},
		"wait for Tools, yes: check; ready, no: wait": {wait: true, ready: "False/WaitingForTools", status: "WaitingForTools"},
		"Tools ready, yes: power state reconciled":    {wait: true, running: true, ready: "True/Succeeded", status: "Running"},
	} {
		t.Run(arrow, func(t *testing.T) {
			vm := stable()
			vm.Spec.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{WaitForTools: test.wait}
			vm.Status.Guest = &vmv1alpha1.VirtualMachineGuestStatus{ToolsRunning: test.running}
			setReady(vm, metav1.Condition{Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded}, time.Unix(0, 0))
			summarize(vm)
			ready := findCondition(vm, vmv1alpha1.ConditionReady)
			if got := string(ready.Status) + "/" + ready.Reason; got != test.ready || vm.Status.PrintableStatus != test.status {
				t.Errorf("Ready is %s and STATUS %s, want %s and %s", got, vm.Status.PrintableStatus, test.ready, test.status)
			}
		})
	}
}

func TestStatus_AddressesArePrimaryFirstAndUnique(t *testing.T) {
	vm := stable(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{
			HostName: "web", PrimaryIP4: "192.0.2.7", PrimaryIP6: "2001:db8::7",
			Interfaces: []vmv1alpha1.VirtualMachineNetworkInterfaceStatus{{
				IPAddresses: []string{"fe80::1/64", "192.0.2.7/24", "198.51.100.3/24", "not an address"}}},
		}
	})
	want := []vmv1alpha1.MachineAddress{
		{Type: "Hostname", Address: "web"},
		{Type: "InternalIP", Address: "192.0.2.7"},
		{Type: "InternalIP", Address: "2001:db8::7"},
		{Type: "InternalIP", Address: "198.51.100.3"},
	}
	if diff := cmp.Diff(want, addresses(vm)); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestStatus_ProvisionedStaysAfterPowerOff(t *testing.T) {
	vm := stable()
	deriveStatus(vm)
	if vm.Status.Initialization == nil || !*vm.Status.Initialization.Provisioned {
		t.Fatal("a running virtual machine with an address is not provisioned")
	}
	power(vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOff)(vm)
	vm.Status.Network = nil
	deriveStatus(vm)
	if !*vm.Status.Initialization.Provisioned {
		t.Error("provisioned became false")
	}
}

// A Machine would reject all addresses if it could not accept all of them.
func TestStatus_AddressesRespectTheLimitsOfAMachine(t *testing.T) {
	vm := fresh()
	vm.Status.Network = &vmv1alpha1.VirtualMachineNetworkStatus{HostName: strings.Repeat("h", 257), PrimaryIP4: "192.0.2.1"}
	for i := range 10 {
		var all []string
		for j := range 32 {
			all = append(all, fmt.Sprintf("198.51.%d.%d/24", i, j))
		}
		vm.Status.Network.Interfaces = append(vm.Status.Network.Interfaces, vmv1alpha1.VirtualMachineNetworkInterfaceStatus{IPAddresses: all})
	}
	got := addresses(vm)
	if len(got) != 256 || got[0] != (vmv1alpha1.MachineAddress{Type: "InternalIP", Address: "192.0.2.1"}) {
		t.Errorf("%d addresses, the first %v; want 256, the primary one first", len(got), got[0])
	}
}
