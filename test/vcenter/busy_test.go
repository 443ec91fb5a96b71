// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func stateOf(ctx context.Context, t *testing.T, c *govmomi.Client, task *object.Task) types.TaskInfo {
	t.Helper()
	var m mo.Task
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, task.Reference(), []string{"info"}, &m); err != nil {
		t.Fatal(err)
	}
	return m.Info
}

func TestBusyVM_RejectsASecondOperation(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm, other := create(ctx, t, c, p, machine("db")), create(ctx, t, c, p, machine("web"))
	s.TaskDelays().Set("PowerOnVM_Task", 10*60*1000)
	first, err := vm.PowerOn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2})
	var busy *types.TaskInProgress
	if _, ok := fault.As(faultOf(ctx, second, err), &busy); !ok || busy.Task != first.Reference() {
		t.Errorf("reconfigure while it powers on: got %+v, want TaskInProgress of %v", busy, first.Reference())
	}
	second, err = vm.PowerOn(ctx)
	if err := faultOf(ctx, second, err); !fault.Is(err, &types.TaskInProgress{}) {
		t.Errorf("power on while it powers on: got %v, want TaskInProgress", err)
	}
	second, err = p.folder.MoveInto(ctx, []types.ManagedObjectReference{other.Reference(), vm.Reference()})
	if err := faultOf(ctx, second, err); !fault.Is(err, &types.TaskInProgress{}) {
		t.Errorf("move while it powers on: got %v, want TaskInProgress", err)
	}
	task, err := other.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2})
	wait(ctx, t, task, err)
	if info := stateOf(ctx, t, c, first); info.State != types.TaskInfoStateRunning || *info.Entity != vm.Reference() ||
		info.Name != "PowerOnVM_Task" || info.DescriptionId != "VirtualMachine.powerOn" {
		t.Errorf("the first task is %s, %s (%s) of %v", info.State, info.Name, info.DescriptionId, info.Entity)
	}
	if err := first.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "the machine is free after the task was cancelled", func() bool {
		task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2})
		return faultOf(ctx, task, err) == nil
	})
	if now := read(ctx, t, c, vm); now.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("after the power-on was cancelled it is %s", now.Runtime.PowerState)
	}
	if info := stateOf(ctx, t, c, first); info.State != types.TaskInfoStateError {
		t.Errorf("the cancelled task is %s", info.State)
	}
}

func TestRecentTasks_IncludeAllRunningTasks(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm, other := create(ctx, t, c, p, machine("db")), create(ctx, t, c, p, machine("web"))
	s.TaskDelays().Set("PowerOnVM_Task", 10*60*1000)
	runs, err := vm.PowerOn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const completed = 200 // is the maximum length of the list
	for i := range completed + 20 {
		task, err := other.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: int32(1 + i%2)})
		wait(ctx, t, task, err)
	}
	var m mo.TaskManager
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, *c.ServiceContent.TaskManager, []string{"recentTask"}, &m); err != nil {
		t.Fatal(err)
	}
	// Tasks that ended since the last one began are still on the list.
	if !slices.Contains(m.RecentTask, runs.Reference()) || len(m.RecentTask) > completed+10 {
		t.Errorf("%d tasks are listed, want about %d completed ones and %v", len(m.RecentTask), completed, runs.Reference())
	}
}

func TestTasks_OfAHostAreQueued(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	host := *read(ctx, t, c, p.template).Runtime.Host
	var vms []*object.VirtualMachine
	for i := range 5 {
		task, err := p.folder.CreateVM(ctx, machine(fmt.Sprintf("vm-%d", i)), p.pool, object.NewHostSystem(c.Client, host))
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(ctx)
		if err != nil {
			t.Fatal(err)
		}
		vms = append(vms, object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference)))
	}
	const limit = 2
	s.Events().LimitTasks(limit)
	s.TaskDelays().Set("PowerOnVM_Task", 10*60*1000)
	var tasks []*object.Task
	for _, vm := range vms {
		task, err := vm.PowerOn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	count := func() map[types.TaskInfoState]int {
		states := map[types.TaskInfoState]int{}
		for _, task := range tasks {
			states[stateOf(ctx, t, c, task).State]++
		}
		return states
	}
	eventually(ctx, t, "two run and three are queued", func() bool {
		n := count()
		return n[types.TaskInfoStateRunning] == limit && n[types.TaskInfoStateQueued] == len(vms)-limit
	})
	s.TaskDelays().Set("PowerOnVM_Task", 0)
	var running []*object.Task
	for _, task := range tasks {
		if stateOf(ctx, t, c, task).State == types.TaskInfoStateRunning {
			running = append(running, task)
		}
	}
	for _, task := range running {
		if err := task.Cancel(ctx); err != nil {
			t.Fatal(err)
		}
	}
	eventually(ctx, t, "the others had their turn", func() bool { return count()[types.TaskInfoStateSuccess] == len(vms)-limit })
}

func TestQuestion_BlocksAVMUntilItIsAnswered(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("db"))
	if err := s.Events().Ask("db", true, "Did you move or copy it?", "Cancel", "I moved it", "I copied it"); err != nil {
		t.Fatal(err)
	}
	powerOn, err := vm.PowerOn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var asked *types.VirtualMachineQuestionInfo
	eventually(ctx, t, "the question is asked", func() bool {
		asked = read(ctx, t, c, vm).Runtime.Question
		return asked != nil
	})
	if asked.Text != "Did you move or copy it?" || len(asked.Choice.ChoiceInfo) != 3 {
		t.Errorf("the question is %+v", asked)
	}
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 2})
	if err := faultOf(ctx, task, err); !fault.Is(err, &types.QuestionPending{}) {
		t.Errorf("reconfigure: got %v, want QuestionPending", err)
	}
	if state := stateOf(ctx, t, c, powerOn).State; state != types.TaskInfoStateRunning {
		t.Errorf("the power-on is %s before the answer", state)
	}
	if err := vm.Answer(ctx, asked.Id, "9"); !fault.Is(err, &types.InvalidArgument{}) {
		t.Errorf("an answer that is no choice: got %v, want InvalidArgument", err)
	}
	if err := vm.Answer(ctx, asked.Id, "1"); err != nil {
		t.Fatal(err)
	}
	wait(ctx, t, powerOn, nil)
	if now := read(ctx, t, c, vm); now.Runtime.Question != nil || now.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("after the answer: question %v, %s", now.Runtime.Question, now.Runtime.PowerState)
	}
	if err := s.Events().Ask("db", false, "There is no more space. Retry?", "Retry", "Cancel"); err != nil {
		t.Fatal(err)
	}
	if err := vm.ShutdownGuest(ctx); !fault.Is(err, &types.QuestionPending{}) {
		t.Errorf("shut down while it asks: got %v, want QuestionPending", err)
	}
}

func TestLibraryImport_DisablesMethods(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	r := connectREST(ctx, t, c)
	p := findPlaces(ctx, t, c)
	item, id := libraryItem(t, r), uuid.NewString()
	s.Events().SetImportTime(testTimeout)
	gaveUp, giveUp := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := vcenter.NewManager(r).DeployLibraryItem(gaveUp, item, deployment(t, p, "db", id))
		done <- err
	}()
	var ref string
	eventually(ctx, t, "the machine is in the inventory", func() bool {
		ref = findByUUID(ctx, t, c, id)
		return ref != ""
	})
	vm := object.NewVirtualMachine(c.Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: ref})
	eventually(ctx, t, "its methods are disabled", func() bool { return len(read(ctx, t, c, vm).DisabledMethod) != 0 })
	if _, err := vm.PowerOn(ctx); !fault.Is(err, &types.MethodDisabled{}) {
		t.Errorf("power on during the import: got %v, want MethodDisabled", err)
	}
	if _, err := vm.Destroy(ctx); !fault.Is(err, &types.MethodDisabled{}) {
		t.Errorf("destroy during the import: got %v, want MethodDisabled", err)
	}
	giveUp()
	if err := <-done; err == nil {
		t.Error("an abandoned deployment has succeeded")
	}
	if got := read(ctx, t, c, vm); len(got.DisabledMethod) == 0 {
		t.Error("the import has ended with its client")
	}
	s.RestartVpxd(Restart{EndTasks: true})
	again := connect(ctx, t, s)
	eventually(ctx, t, "a restart has ended the import and removed the machine", func() bool { return findByUUID(ctx, t, again, id) == "" })
}

func TestQuestion_OfAMissingVMIsRejected(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	if err := s.Events().Ask("missing", false, "?", "yes"); err == nil {
		t.Error("a question to a missing VM")
	}
	if _, err := methods.AnswerVM(ctx, c, &types.AnswerVM{This: *ref("VirtualMachine", "vm-999")}); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("an answer for a missing VM: %v", err)
	}
}
