// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// taking is the resource use of a virtual machine. Amounts are in bytes, and -1 if unknown.
type taking struct {
	key                                 types.NamespacedName
	zone                                string
	power                               vmv1alpha1.PowerState
	vcpus, memory, storage, provisioned int64
	use
}

// unknown is the value of an unknown amount.
const unknown = int64(-1)

// takenBy returns the resources of a virtual machine. Before its first reconcile, they are those of the spec.
func takenBy(vm *vmv1alpha1.VirtualMachine, used map[types.NamespacedName]use) taking {
	t := taking{
		key: types.NamespacedName{Namespace: vm.Namespace, Name: vm.Name}, zone: vm.Status.Zone, power: vm.Status.PowerState,
		vcpus: unknown, memory: unknown, storage: unknown, provisioned: unknown, use: noUse,
	}
	if u, ok := used[t.key]; ok {
		t.use = u
	}
	switch r := vm.Status.Resources; {
	case r != nil:
		t.vcpus = int64(r.VCPUs)
		if r.Memory != nil {
			t.memory = r.Memory.Value()
		}
	case vm.Spec.CPU != nil && vm.Spec.Memory != nil && vm.Spec.Memory.Guest != nil:
		c := vm.Spec.CPU
		t.vcpus, t.memory = int64(max(c.Sockets, 1))*int64(max(c.Cores, 1))*int64(max(c.Threads, 1)), vm.Spec.Memory.Guest.Value()
	}
	if s := vm.Status.Storage; s != nil {
		if s.Committed != nil {
			t.storage = s.Committed.Value()
		}
		if s.Provisioned != nil {
			t.provisioned = s.Provisioned.Value()
		}
	}
	return t
}

// usedSuffix is the suffix of the sort keys of resources in use.
const usedSuffix = "-used"

// machineOrders maps sort keys to amounts; nil sorts by name.
var machineOrders = map[string]func(*taking) int64{
	"name": nil, "cpu": func(t *taking) int64 { return t.vcpus }, "memory": func(t *taking) int64 { return t.memory },
	"storage": func(t *taking) int64 { return t.storage }, "provisioned": func(t *taking) int64 { return t.provisioned },
	"cpu" + usedSuffix: func(t *taking) int64 { return t.hertz }, "memory" + usedSuffix: func(t *taking) int64 { return t.active },
}

// sortTaking sorts in descending order, and equal amounts by name.
func sortTaking(all []taking, by string) {
	of := machineOrders[by]
	slices.SortFunc(all, func(a, b taking) int {
		byName := cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
		if of == nil {
			return byName
		}
		return cmp.Or(cmp.Compare(of(&b), of(&a)), byName)
	})
}

func printTaking(out io.Writer, all []taking, namespaces, used, sum bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	line := func(namespace string, cells ...string) {
		if namespaces {
			cells = append([]string{namespace}, cells...)
		}
		cli.Row(w, cells...)
	}
	header := []string{"NAME", "POWER", "CPU", "MEMORY", "STORAGE", "PROVISIONED"}
	if used {
		header = append(header, "CPU USED", "MEMORY ACTIVE", "HOST MEMORY")
	}
	line("NAMESPACE", header...)
	total := taking{}
	for i := range all {
		t := &all[i]
		line(t.key.Namespace, append([]string{t.key.Name, cli.Dash(string(t.power))}, t.cells(used)...)...)
		total.add(t)
	}
	if sum {
		line("", append([]string{fmt.Sprintf("(%d)", len(all)), ""}, total.cells(used)...)...)
	}
	return w.Flush()
}

// cells formats the amounts.
func (t *taking) cells(used bool) []string {
	vcpus := "-"
	if t.vcpus >= 0 {
		vcpus = fmt.Sprint(t.vcpus)
	}
	cells := []string{vcpus, known(t.memory), known(t.storage), known(t.provisioned)}
	if used {
		cells = append(cells, megahertz(t.hertz), known(t.active), known(t.host))
	}
	return cells
}

// add adds the known amounts of another one.
func (t *taking) add(o *taking) {
	for _, pair := range [][2]*int64{
		{&t.vcpus, &o.vcpus}, {&t.memory, &o.memory}, {&t.storage, &o.storage}, {&t.provisioned, &o.provisioned},
		{&t.hertz, &o.hertz}, {&t.active, &o.active}, {&t.host, &o.host},
	} {
		*pair[0] += max(*pair[1], 0)
	}
}

// known formats an amount of bytes, empty if unknown.
func known(bytes int64) string {
	if bytes < 0 {
		return "-"
	}
	return cli.Amount(bytes)
}

func megahertz(hertz int64) string {
	if hertz < 0 {
		return "-"
	}
	return fmt.Sprintf("%d MHz", hertz/1_000_000)
}
