// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/schema"
)

var (
	long = flag.Bool("long", false, "make twenty times as many")
	part = flag.Int("part", 0, "use one of this many values; 0 means the default, which depends on -long")
)

const (
	// ofShort and ofLong select one of that many values. Most accepted values are similar names that the API has
	// already validated.
	ofShort = 211
	ofLong  = 11
	// together is the number of VMs that exist at a time.
	together = 250
)

func TestOddMachines_AreReadyOrReportWhyNot(t *testing.T) {
	e := start(t)
	accepted := e.accepted()
	var changes []oddity
	for _, o := range accepted {
		if o.kind.Name == machineKind {
			changes = append(changes, o)
		}
	}
	refused, number := 0, 0
	for batch := range slices.Chunk(accepted, together) {
		f := &fleet{environment: e}
		for _, o := range batch {
			f.machines = append(f.machines, &machine{name: fmt.Sprintf("odd-%05d", number), odd: []oddity{o}})
			number++
		}
		f.step("create", f.create)
		f.step("change", func(m *machine, i int) {
			from := (number + i*7) % len(changes)
			f.change(m, slices.Concat(changes[from:], changes[:from])[:min(10, len(changes))])
		})
		f.step("power off", func(m *machine, _ int) { f.power(m, vmv1alpha1.PoweredOff) })
		f.step("power on", func(m *machine, _ int) { f.power(m, vmv1alpha1.PoweredOn) })
		f.rests()
		f.remove()
		refused += f.refused
	}
	t.Logf("%d odd objects were made, %d changes were refused; answers by code: %v", number, refused, e.codes)
}

// accepted returns the odd values that the API accepts in a dry run. It omits values with the same effect.
func (e *environment) accepted() []oddity {
	e.t.Helper()
	var found []oddity
	tried, of := 0, ofShort
	if *long {
		of = ofLong
	}
	of = cmp.Or(*part, of)
	for _, k := range schema.Kinds {
		if slices.Contains(unused, k.Name) {
			continue
		}
		all, seen := e.schemas(k.Group), map[string]bool{}
		for _, o := range oddities(k, all) {
			if tried++; !among(o, of) {
				continue
			}
			code, answer := e.ask(http.MethodPost, k.Collection(namespace)+"?dryRun=All", asJSON, o.object("dry"))
			if code != http.StatusCreated {
				continue
			}
			if text := effect(e.t, o.place, answer); !seen[text] {
				seen[text] = true
				found = append(found, o)
			}
		}
	}
	e.t.Logf("%d values, answers to the dry runs by code: %v, %d different objects are accepted", tried, e.codes, len(found))
	return found
}

// among selects one of this many values by a hash of the value, so a new field of the API does not change the selection
// of other values.
func among(o oddity, of int) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.kind.Name + o.place + o.value)) // never fails
	return h.Sum32()%uint32(of) == 0
}

// unused are kinds without odd values. VCenters and Zones affect all VMs and no VM refers to them. The other kinds are
// written only by the server, do not create VMs, only control their power, or belong to clusters.
var unused = []string{
	"VCenter", "Zone", "ContentLibrary", "ControllerRevision", "VirtualMachineInstance", "VirtualMachineImageCache", "VirtualMachinePublishRequest",
	"VirtualMachineGroup",
	"VirtualMachineSnapshot",
	"VirtualMachineTemplate", "SlipwayCluster", "Cluster", "Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck", "MachineDrainRule",
}

// effect is the operation that an accepted object requests.
func effect(t *testing.T, place string, answer []byte) string {
	t.Helper()
	object := decode[map[string]any](t, answer)
	meta, _ := object["metadata"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	if firmware, ok := spec["firmware"].(map[string]any); ok && !below(place, ".spec.firmware") {
		delete(firmware, "uuid") // chosen by the server
	}
	text, err := json.Marshal([]any{meta["labels"], meta["annotations"], spec})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
