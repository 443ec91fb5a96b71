// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"golang.org/x/tools/txtar"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// TestQueue_Scenarios runs testdata/*.txtar, one file for each scenario of the specification, with the real event
// handlers and the real queue. NAMES is a name or a range such as vm-1..1000. Commands:
//
//	stored NAMES            stable VMs that exist before the controller starts
//	start                   the controller starts: initial list, handlers
//	create NAME             a user creates a VM
//	power NAME STATE        a user changes spec.powerState
//	delete NAME             a user deletes a VM
//	status NAME STATE [ip]  the controller writes the state in vSphere to the status
//	resync NAME             the periodic resync, or an event of the provider
//	next NAME PRIORITY      the queue returns this key next, and it is done immediately
//	rest COUNT PRIORITY     the number of remaining keys, all with this priority
func TestQueue_Scenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d scenario files (%v), want one for each of the 5 of the specification", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 1 {
				t.Fatalf("reading %s: %v", file, err)
			}
			synctest.Test(t, func(t *testing.T) {
				s := &scenario{t: t}
				for i, line := range strings.Split(string(archive.Files[0].Data), "\n") {
					line, _, _ = strings.Cut(line, "#")
					if fields := strings.Fields(line); len(fields) > 0 {
						s.position = fmt.Sprintf("%s, script line %d: %s", file, i+1, line)
						s.do(fields[0], fields[1:])
					}
				}
			})
		})
	}
}

// scenario is a running script.
type scenario struct {
	t        *testing.T
	position string
	objects  []runtime.Object
	a        *assembled
}

func (s *scenario) do(command string, args []string) {
	s.t.Helper()
	switch command {
	case "stored":
		for _, name := range s.names(args[0]) {
			s.objects = append(s.objects, stable(named(name), func(vm *vmv1alpha1.VirtualMachine) {
				vm.Finalizers = []string{vmv1alpha1.VirtualMachineFinalizer} // the deletion does not end immediately
			}))
		}
	case "start":
		s.a = assemble(s.t, s.objects...)
		s.a.watch(s.t)
	case "create":
		if _, err := s.a.api.VmV1alpha1().VirtualMachines("ns").Create(s.t.Context(), fresh(named(args[0])), metav1.CreateOptions{}); err != nil {
			s.t.Fatalf("%s: %v", s.position, err)
		}
	case "power":
		s.a.api.edit(args[0], func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PowerState = vmv1alpha1.PowerState(args[1]) })
	case "delete":
		s.a.api.markDeleted(args[0])
	case "status":
		s.a.api.edit(args[0], func(vm *vmv1alpha1.VirtualMachine) { s.record(vm, args[1:]) })
	case "resync":
		key := testKey
		key.Name = args[0]
		s.a.enqueuer.EnqueueGeneric(key)
	case "next":
		s.next(args[0], s.number(args[1]))
	case "rest":
		s.rest(s.number(args[0]), s.number(args[1]))
	default:
		s.t.Fatalf("%s: unknown command", s.position)
	}
	synctest.Wait()
}

// record gives the VM the state of a created VM with the power state, and with an address if there is one.
func (s *scenario) record(vm *vmv1alpha1.VirtualMachine, state []string) {
	vm.Status.Conditions = stable().Status.Conditions
	vm.Status.PowerState = vmv1alpha1.PowerState(state[0])
	vm.Status.Network = nil
	if len(state) > 1 {
		vm.Status.Network = stable().Status.Network
	}
}

func (s *scenario) next(name string, priority int) {
	s.t.Helper()
	if s.a.Keys.Len() == 0 {
		s.t.Fatalf("%s: the queue is empty", s.position)
	}
	key, got, _ := s.a.Keys.GetWithPriority()
	s.a.Keys.Done(key)
	if key.Name != name || got != priority {
		s.t.Errorf("%s: the queue returned %s with %d", s.position, key.Name, got)
	}
}

func (s *scenario) rest(count, priority int) {
	s.t.Helper()
	all := s.a.drain()
	if len(all) != count {
		s.t.Errorf("%s: %d keys were left", s.position, len(all))
	}
	for _, h := range all {
		if h.Priority != priority {
			s.t.Errorf("%s: %s has %d", s.position, h.Name, h.Priority)
		}
	}
}

var rangePattern = regexp.MustCompile(`^(.*-)(\d+)\.\.(\d+)$`)

func (s *scenario) names(text string) []string {
	m := rangePattern.FindStringSubmatch(text)
	if m == nil {
		return []string{text}
	}
	var names []string
	for i := s.number(m[2]); i <= s.number(m[3]); i++ {
		names = append(names, m[1]+strconv.Itoa(i))
	}
	return names
}

func (s *scenario) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatalf("%s: %v", s.position, err)
	}
	return n
}
