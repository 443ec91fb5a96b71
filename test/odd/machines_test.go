// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/schema"
)

const (
	// deadline is many times the duration of a step of a fleet on an idle machine.
	deadline = 5 * time.Minute
	// users is the number of concurrent requests.
	users = 4

	asJSON  = "application/json"
	asMerge = "application/merge-patch+json"
)

// machine is a VM with odd values.
type machine struct {
	name string
	// odd are its values. The last one is that of the last change.
	odd  []oddity
	moID string
	// labelled is how often labels and annotations changed in a step. Each change is recorded in the VM.
	labelled int
	// refused is true if the API rejected the VM.
	refused bool
}

func machinesPath(name string) string {
	return strings.TrimSuffix(schema.Kinds[0].Collection(namespace)+"/"+name, "/")
}

// fleet is the current set of machines.
type fleet struct {
	*environment
	machines []*machine
	// made are the paths of all created objects.
	made []string
	// refused are the rejected changes.
	refused int
}

// each calls a function for all VMs with limited concurrency.
func (f *fleet) each(do func(m *machine, i int)) {
	var all errgroup.Group
	all.SetLimit(users)
	for i, m := range f.machines {
		all.Go(func() error {
			do(m, i)
			return nil
		})
	}
	_ = all.Wait() // no function returns an error
}

// create creates the odd object, and a VM that is or uses it.
func (f *fleet) create(m *machine, _ int) {
	f.t.Helper()
	o := m.odd[0]
	if code, answer := f.make(o.kind, m.name, o.object(m.name)); code != http.StatusCreated {
		f.t.Errorf("%s: was accepted in a dry run, and is answered %d %.300s", o, code, answer)
		return
	}
	if o.kind.Name == machineKind {
		return
	}
	if code, answer := f.make(schema.Kinds[0], m.name, o.user(m.name)); code != http.StatusCreated {
		// A VM that requests more than the capacity reports it immediately.
		m.refused = true
		if !bytes.Contains(answer, []byte(references[o.kind.Name][1:])) && !schema.Named(string(answer), o.place) {
			f.t.Errorf("a machine with %s: answer %d, which names no field: %.300s", o, code, answer)
		}
	}
}

func (f *fleet) make(k schema.Kind, name, text string) (code int, answer []byte) {
	f.t.Helper()
	path := k.Collection(namespace)
	if code, answer = f.ask(http.MethodPost, path, asJSON, text); code == http.StatusCreated {
		f.mu.Lock()
		f.made = append(f.made, path+"/"+name)
		f.mu.Unlock()
	}
	return code, answer
}

// change sets the first of some odd values that the API accepts.
func (f *fleet) change(m *machine, candidates []oddity) {
	f.t.Helper()
	for _, o := range candidates {
		code, answer := f.ask(http.MethodGet, machinesPath(m.name), "", "")
		if code != http.StatusOK {
			f.t.Errorf("%s with %s: answer %d %.300s", m.name, m.odd, code, answer)
			return
		}
		is := decode[map[string]json.RawMessage](f.t, answer)
		delete(is, "status")
		document, err := json.Marshal(is)
		if err != nil {
			f.t.Error(err)
			return
		}
		code, changed := f.ask(http.MethodPut, machinesPath(m.name), asJSON, change(string(document), o.place, o.value))
		if code == http.StatusOK {
			before, after := decode[vmv1alpha1.VirtualMachine](f.t, answer), decode[vmv1alpha1.VirtualMachine](f.t, changed)
			if after.Generation > before.Generation {
				m.odd = append(m.odd, o)
				return
			}
			if after.ResourceVersion != before.ResourceVersion {
				m.labelled++
			}
		}
		f.mu.Lock()
		f.refused++
		f.mu.Unlock()
	}
}

// power sets the desired power state of a VM.
func (f *fleet) power(m *machine, state vmv1alpha1.PowerState) {
	f.t.Helper()
	code, answer := f.ask(http.MethodPatch, machinesPath(m.name), asMerge, fmt.Sprintf(`{"spec":{"powerState":%q}}`, state))
	if code != http.StatusOK {
		f.t.Errorf("%s with %s: wanted %s, answer %d %.300s", m.name, m.odd, state, code, answer)
	}
}

// list reads all VMs, by name.
func (f *fleet) list() map[string]*vmv1alpha1.VirtualMachine {
	f.t.Helper()
	code, answer := f.ask(http.MethodGet, machinesPath(""), "", "")
	if code != http.StatusOK {
		f.t.Fatalf("listing the machines: answer %d %.300s", code, answer)
	}
	found := map[string]*vmv1alpha1.VirtualMachine{}
	all := decode[vmv1alpha1.VirtualMachineList](f.t, answer)
	for i := range all.Items {
		found[all.Items[i].Name] = &all.Items[i]
	}
	return found
}

// step performs an action on all VMs, waits until each is ready or reports why not, and checks the cost.
func (f *fleet) step(name string, do func(m *machine, i int)) {
	f.t.Helper()
	f.order(http.MethodPut, "/trace?calls=100000")
	before, _ := f.numbers()
	for _, m := range f.machines {
		m.labelled = 0
	}
	f.each(do)
	f.machines = slices.DeleteFunc(f.machines, func(m *machine) bool { return m.refused })
	f.settle(name)
	dearest, calls := "", 0
	for _, m := range f.machines {
		asked, err := fleetcheck.Calls(f.t.Context(), f.cluster, m.name, m.moID)
		if err != nil {
			f.t.Fatal(err)
		}
		if wrong := repeated(asked, m.labelled); wrong != "" {
			f.t.Errorf("%s: %s with %s: %s", name, m.name, m.odd, wrong)
		}
		if len(asked) > calls {
			calls, dearest = len(asked), fmt.Sprintf("%s with %s", m.name, m.odd)
		}
	}
	passes, faults := f.numbers()
	if len(faults) > 0 {
		f.t.Errorf("%s: the server answered:\n%s", name, strings.Join(faults, "\n"))
	}
	f.t.Logf("%s: %d machines, %d passes; most was asked of vSphere for %s: %d operations", name, len(f.machines), passes-before, dearest, calls)
	if most := maxPasses * len(f.machines); passes-before > most {
		f.t.Errorf("%s: %d passes, at most %d are right", name, passes-before, most)
	}
}

// maxPasses is how often the controllers may reconcile a VM in one step, on average.
const maxPasses = 100

// settle waits until each VM is ready or reports why not.
func (f *fleet) settle(name string) {
	f.t.Helper()
	missing := map[string]string{}
	err := wait.PollUntilContextTimeout(f.t.Context(), 500*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		clear(missing)
		there := f.list()
		for _, m := range f.machines {
			vm, ok := there[m.name]
			if !ok {
				missing[m.name] = "is deleted"
				continue
			}
			if vm.Status.UniqueID != "" {
				m.moID = vm.Status.UniqueID
			}
			if why := unsettled(vm, m.odd); why != "" {
				missing[m.name] = fmt.Sprintf("with %s: %s", m.odd, why)
			}
		}
		return len(missing) == 0, nil
	})
	for _, machine := range slices.Sorted(maps.Keys(missing)) {
		f.t.Errorf("%s: %s %s", name, machine, missing[machine])
	}
	// A VM that does not settle has been reported and is not awaited any more.
	f.machines = slices.DeleteFunc(f.machines, func(m *machine) bool { return missing[m.name] != "" })
	if err != nil && len(missing) == 0 {
		f.t.Fatal(err)
	}
}

// rests waits until the controllers are almost idle.
func (f *fleet) rests() {
	f.t.Helper()
	const few = 40
	last := -1
	err := wait.PollUntilContextTimeout(f.t.Context(), 2*time.Second, deadline, true, func(context.Context) (bool, error) {
		passes, _ := f.numbers()
		since := passes - last
		last = passes
		return last != -1 && since < few, nil
	})
	if err != nil {
		f.t.Errorf("the controllers do not come to rest, with %d machines: %v", len(f.machines), err)
	}
}

// remove deletes all objects and waits until nothing of them is left.
func (f *fleet) remove() {
	f.t.Helper()
	for _, path := range f.made {
		if strings.HasPrefix(path, machinesPath("")) { // a paused VM would not be deleted
			f.ask(http.MethodPatch, path, asMerge, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, vmv1alpha1.AnnotationPaused))
		}
		f.delete(path)
	}
	var last error
	err := wait.PollUntilContextTimeout(f.t.Context(), time.Second, deadline, true, func(ctx context.Context) (bool, error) {
		seen, err := f.check.Look(ctx)
		if err != nil {
			return false, err
		}
		found := f.check.Problems(nil, []string{namespace}, seen)
		last = errors.New(strings.Join(found, "\n"))
		return len(found) == 0, nil
	})
	if err != nil {
		_, left := f.ask(http.MethodGet, schema.Kinds[0].Base()+"/namespaces/"+namespace+"/virtualmachineinstances", "", "")
		f.t.Errorf("after all were deleted: %v: %v\n%.5000s", err, last, left)
	}
}

func (f *fleet) delete(path string) {
	f.t.Helper()
	if code, answer := f.ask(http.MethodDelete, path, "", ""); code != http.StatusOK && code != http.StatusAccepted && code != http.StatusNotFound {
		f.t.Errorf("deleting %s: answer %d %.300s", path, code, answer)
	}
}
