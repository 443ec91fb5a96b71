// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const document = "docs/reference/conditions.md"

func TestDocument_IsGenerated(t *testing.T) {
	is, err := os.ReadFile("../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Document(), string(is)); diff != "" {
		t.Errorf("%s is not what make generate (go run ./hack/reference-table %s) writes (-want +got):\n%s", document, document, diff)
	}
}

// conditionsBelow adds the fields of t, which is at path, that have conditions.
func conditionsBelow(t reflect.Type, path string, found map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || strings.Count(path, ".") > 3 {
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type == reflect.TypeFor[[]metav1.Condition]() {
			found[strings.TrimPrefix(path, ".")] = true
		} else if name != "" {
			conditionsBelow(f.Type, path+"."+name, found)
		}
	}
}

func TestKinds_AreThoseOfTheAPI(t *testing.T) {
	want, got := map[string]bool{}, map[string]bool{}
	for gvk, of := range scheme.Scheme.AllKnownTypes() {
		if gvk.GroupVersion() != vmv1alpha1.SchemeGroupVersion && gvk.GroupVersion() != clusterv1alpha1.SchemeGroupVersion {
			continue
		}
		status, ok := of.FieldByName("Status")
		if !ok {
			continue
		}
		paths := map[string]bool{}
		conditionsBelow(status.Type, "", paths)
		for path := range paths {
			want[gvk.Kind+" "+path] = true
		}
	}
	for i := range Kinds {
		for _, name := range Kinds[i].Names {
			got[name+" "+Kinds[i].List] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds with conditions (-API +table):\n%s", diff)
	}
}

func TestTable_IsComplete(t *testing.T) {
	statuses := []metav1.ConditionStatus{isTrue, isFalse, isUnknown}
	seen := map[string]bool{}
	for i := range Kinds {
		k := &Kinds[i]
		for _, c := range slices.Concat(k.Conditions, everyKind) {
			at := k.Title() + " " + c.Type
			if seen[at] {
				t.Errorf("%s occurs twice", at)
			}
			seen[at] = true
			sentences := []string{c.Means}
			if c.Normal == "" || c.Absent != "" {
				sentences = append(sentences, c.Absent)
			}
			normal := c.Normal == ""
			for n, r := range c.Reasons {
				sentences = append(sentences, r.Means, r.Do)
				normal = normal || r.Status == c.Normal
				if !slices.Contains(statuses, r.Status) || slices.ContainsFunc(c.Reasons[:n], func(o Reason) bool { return o.Status == r.Status && o.Reason == r.Reason }) {
					t.Errorf("%s: %s %s occurs twice, or has no status", at, r.Status, r.Reason)
				}
			}
			for _, from := range c.Copies {
				of := find(from.Of)
				if of == nil {
					t.Errorf("%s: there is no condition %s", at, from.Of)
					continue
				}
				normal = normal || (from.From == "" || from.From == c.Normal) && of.Normal == c.Normal
			}
			if !normal {
				t.Errorf("%s: no reason has the status %s", at, c.Normal)
			}
			for _, text := range sentences {
				if !strings.HasSuffix(text, ".") || strings.Contains(text, "|") || strings.Contains(text, "  ") {
					t.Errorf("%s: %q is no sentence", at, text)
				}
			}
		}
	}
}

// object returns an object of a kind with a condition in its status.
func object(kind string, group, condition, status, reason string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group, "kind": kind, "metadata": map[string]any{"name": "a", "namespace": "b"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": condition, "status": status, "reason": reason}}},
	}}
}

func TestCheck_ReportsMissingRowsOfTheTable(t *testing.T) {
	const vms, clusters = "vm.slipway.dev/v1alpha1", "cluster.slipway.dev/v1alpha1"
	group := object("VirtualMachineGroup", vms, "Ready", "True", "Succeeded")
	_ = unstructured.SetNestedSlice(group.Object, []any{map[string]any{"conditions": []any{map[string]any{"type": "PowerStateSynced", "status": "False", "reason": "Nonsense"}}}}, "status", "members")
	for i, tc := range []struct {
		object *unstructured.Unstructured
		lacks  bool
	}{
		{object("VirtualMachine", vms, "Created", "True", "Succeeded"), false},
		{object("VirtualMachine", vms, "Created", "False", "Succeeded"), true},
		{object("VirtualMachine", vms, "Created", "True", "Nonsense"), true},
		{object("VirtualMachine", vms, "Nonsense", "True", "Succeeded"), true},
		{object("VirtualMachine", vms, "WritesWithinLimit", "False", "TooManyWrites"), false},
		// Ready copies the reasons of Created, as False.
		{object("VirtualMachine", vms, "Ready", "False", "CopyFound"), false},
		{object("VirtualMachine", vms, "Ready", "Unknown", "CopyFound"), true},
		{object("VirtualMachineInstance", vms, "Ready", "False", "CopyFound"), false},
		{object("VirtualMachine", vms, "Reconciling", "True", "NotEffective"), false},
		{object("VirtualMachine", vms, "Reconciling", "True", "Succeeded"), true},
		{object("VirtualMachine", vms, "ProbeSucceeded", "Unknown", "NotReady"), false},
		{object("ClusterVirtualMachineImage", vms, "OVFReady", "False", "Incomplete"), false},
		{object("VirtualMachineSnapshot", vms, "OVFReady", "False", "Incomplete"), true},
		{object("Machine", clusters, "InfrastructureReady", "False", "Anything"), false},
		{object("Machine", clusters, "OfAnother", "False", "Anything"), false},
		{object("MachineSet", clusters, "OfAnother", "False", "Anything"), true},
		{group, true},
		{object("Pod", "v1", "Ready", "False", "Anything"), false},
	} {
		if got := Check(tc.object); (len(got) > 0) != tc.lacks {
			t.Errorf("%d: %v of %v, want some: %v", i, got, tc.object.Object["status"], tc.lacks)
		}
	}
}

func TestFollow_ReportsCurrentAndPreviousValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const group = "vm.slipway.dev/v1alpha1"
		kinds := map[schema.GroupVersionResource]string{}
		for _, r := range Resources() {
			kinds[r] = "List"
		}
		machines := Kinds[0].resource("VirtualMachine")
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, object("VirtualMachine", group, "Created", "True", "First"))
		stop := Follow(client)
		synctest.Wait()
		for _, reason := range []string{"Second", "Succeeded"} {
			if _, err := client.Resource(machines).Namespace("b").Update(t.Context(), object("VirtualMachine", group, "Ready", "True", reason), metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		const want = "VirtualMachine: condition Created=True has the reason First, which test/reasons does not have\n" +
			"VirtualMachine: condition Ready=True has the reason Second, which test/reasons does not have"
		if err := stop(t.Context()); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	})
}
