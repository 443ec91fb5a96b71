// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

const (
	asJSON    = "application/json"
	asMerge   = "application/merge-patch+json"
	asStrat   = "application/strategic-merge-patch+json"
	asOps     = "application/json-patch+json"
	asApply   = "application/apply-patch+yaml"
	ofAMiB    = `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","metadata":{"name":"vm"},"spec":{"cpu":{"sockets":1},"memory":{"guest":"1 MiB"}}}`
	enormous  = `{"spec":{"memory":{"guest":"1e999999999"}}}`
	instances = "/apis/vm.slipway.dev/v1alpha1/namespaces/" + namespace + "/virtualmachineinstances"
)

func TestMalformedBody_ReportsAnInvalidQuantityForEveryVerb(t *testing.T) {
	s := framework.StartStandalone(t)
	createVM(t, s.Client(t), inlineVM("vm"))
	for name, tc := range map[string]struct{ method, path, format, body string }{
		"create":                {http.MethodPost, "", asJSON, ofAMiB},
		"create in YAML":        {http.MethodPost, "", "application/yaml", manifest("VirtualMachine", "v", "{cpu: {sockets: 1}, memory: {guest: 1 MiB}}")},
		"update":                {http.MethodPut, "/vm", asJSON, ofAMiB},
		"merge patch":           {http.MethodPatch, "/vm", asMerge, `{"spec":{"memory":{"guest":"1 MiB"}}}`},
		"strategic merge patch": {http.MethodPatch, "/vm", asStrat, `{"spec":{"memory":{"guest":"1 MiB"}}}`},
		"JSON patch":            {http.MethodPatch, "/vm", asOps, `[{"op":"replace","path":"/spec/memory/guest","value":"1 MiB"}]`},
		"apply":                 {http.MethodPatch, "/vm?fieldManager=me&force=true", asApply, ofAMiB},
	} {
		t.Run(name, func(t *testing.T) {
			status := ask(t, s.Config(), tc.method, machinesPath+tc.path, tc.format, tc.body)
			if status.Code != http.StatusBadRequest && status.Code != http.StatusUnprocessableEntity ||
				!strings.Contains(status.Message, `spec.memory.guest: Invalid value: "1 MiB": quantities must match`) {
				t.Errorf("answer %d %s; want 400 or 422 that names spec.memory.guest", status.Code, status.Message)
			}
		})
	}
}

// test/integration/odd measures the cost. This test checks that the request ends and how it is answered.
func TestMalformedBody_ExpensivePatchIsRejectedBeforeTheMerge(t *testing.T) {
	s := framework.StartStandalone(t)
	createVM(t, s.Client(t), inlineVM("vm"))
	instance := `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachineInstance","metadata":{"name":"vm"},` + enormous[1:]
	conditions := `{"status":{"conditions":[` + strings.Repeat("{},", 10_000) + `{}]}}`
	for name, tc := range map[string]struct {
		method, path, format, body string
		code                       int32
		says                       string
	}{
		"digits of an instance":        {http.MethodPost, instances, asJSON, instance, 422, "spec.memory.guest"},
		"digits by merge patch":        {http.MethodPatch, machinesPath + "/vm", asMerge, enormous, 422, "spec.memory.guest"},
		"digits by strategic patch":    {http.MethodPatch, machinesPath + "/vm", asStrat, enormous, 422, "spec.memory.guest"},
		"digits in a status":           {http.MethodPatch, machinesPath + "/vm/status", asMerge, `{"status":{"resources":{"memory":"1e999999999"}}}`, 422, "status.resources.memory"},
		"lists without end":            {http.MethodPatch, machinesPath + "/vm", asMerge, `{"spec":{"guestID":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}}", 400, "spec.guestID"},
		"a list to be merged by a key": {http.MethodPatch, machinesPath + "/vm/status", asStrat, conditions, 400, "status.conditions"},
	} {
		t.Run(name, func(t *testing.T) {
			status := ask(t, s.Config(), tc.method, tc.path, tc.format, tc.body)
			if status.Code != tc.code || !strings.Contains(status.Message, tc.says) {
				t.Errorf("answer %d %.300s; want %d that names %s", status.Code, status.Message, tc.code, tc.says)
			}
		})
	}
}

// The library reports every duplicate of an item again.
func TestMalformedBody_ResponseToAnApplyIsShort(t *testing.T) {
	s := framework.StartStandalone(t)
	createVM(t, s.Client(t), inlineVM("vm"))
	owners := strings.NewReplacer("1 MiB", "1Gi", `"name":"vm"`, `"name":"vm","ownerReferences":[`+strings.Repeat("{},", 10_000)+`{}]`).Replace(ofAMiB)
	status := ask(t, s.Config(), http.MethodPatch, machinesPath+"/vm?fieldManager=me&force=true", asApply, owners)
	if status.Code != http.StatusBadRequest || !strings.Contains(status.Message, "metadata.ownerReferences") {
		t.Errorf("answer %d %.300s; want 400 that names metadata.ownerReferences", status.Code, status.Message)
	}
	if n := len(status.Message); n > 8<<10 {
		t.Errorf("the answer has %d bytes", n)
	}
}

func TestMalformedBody_IsNotAnInternalError(t *testing.T) {
	s := framework.StartStandalone(t)
	createVM(t, s.Client(t), inlineVM("vm"))
	numbered := func(version string) string {
		return strings.Replace(strings.Replace(ofAMiB, "1 MiB", "1Gi", 1), `"name":"vm"`, `"name":"vm","resourceVersion":"`+version+`"`, 1)
	}
	for name, tc := range map[string]struct {
		method, path, format, body string
		code                       int32
		says                       string
	}{
		"reading a version that is none":     {http.MethodGet, "/vm?resourceVersion=abc", "", "", 400, "resourceVersion"},
		"watching from one":                  {http.MethodGet, "?watch=true&resourceVersion=abc", "", "", 400, "resourceVersion"},
		"replacing one":                      {http.MethodPut, "/vm", asJSON, numbered("abc"), 400, "metadata.resourceVersion"},
		"creating with a version":            {http.MethodPost, "", asJSON, strings.Replace(numbered("7"), `"vm"`, `"new"`, 1), 422, "metadata.resourceVersion"},
		"applying a field that is unknown":   {http.MethodPatch, "/vm?fieldManager=me", asApply, strings.Replace(numbered(""), `"sockets"`, `"sokets"`, 1), 400, ".spec.cpu.sokets"},
		"merging by a key that is an object": {http.MethodPatch, "/vm", asStrat, `{"spec":{"network":{"interfaces":[{"name":{}}]}}}`, 400, "spec.network.interfaces[0].name"},
		"merging an entry without its key":   {http.MethodPatch, "/vm", asStrat, `{"spec":{"network":{"interfaces":[{"mtu":9000}]}}}`, 400, "name"},
		"merging a long one without its key": {http.MethodPatch, "/vm", asStrat, `{"spec":{"network":{"interfaces":[{"x":"` + strings.Repeat("x", 10_000) + `"}]}}}`, 400, "merge key: name"},
	} {
		t.Run(name, func(t *testing.T) {
			status := ask(t, s.Config(), tc.method, machinesPath+tc.path, tc.format, tc.body)
			if status.Code != tc.code || !strings.Contains(status.Message, tc.says) {
				t.Errorf("answer %d %.300s; want %d that names %s", status.Code, status.Message, tc.code, tc.says)
			}
		})
	}
}

// The body is stored as the client sent it, and is decoded last by the library for managed fields, which panics on
// malformed input.
func TestMalformedBody_UnreadableDataIsRejected(t *testing.T) {
	s := framework.StartStandalone(t)
	const path = "/apis/instancetype.slipway.dev/v1alpha1/namespaces/" + namespace + "/controllerrevisions"
	revision := func(name, more string) string {
		return `{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"ControllerRevision","metadata":{"name":"` + name + `"},"revision":1,` +
			`"data":{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachinePreference","metadata":{"name":"x"` + more + `},"spec":{}}}`
	}
	var good itv1alpha1.ControllerRevision
	if err := json.Unmarshal([]byte(revision("good", "")), &good); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client(t).InstancetypeV1alpha1().ControllerRevisions(namespace).Create(t.Context(), &good, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const more = `,"x":1e400`
	for name, tc := range map[string]struct{ method, path, format, body string }{
		"create": {http.MethodPost, "", asJSON, revision("bad", more)},
		"update": {http.MethodPut, "/good", asJSON, revision("good", more)},
		"merge":  {http.MethodPatch, "/good", asMerge, `{"data":{"x":1e400}}`},
		"add":    {http.MethodPatch, "/good", asOps, `[{"op":"add","path":"/data/x","value":1e400}]`},
		"apply":  {http.MethodPatch, "/good?fieldManager=me&force=true", asApply, revision("good", more)},
	} {
		t.Run(name, func(t *testing.T) {
			status := ask(t, s.Config(), tc.method, path+tc.path, tc.format, tc.body)
			if status.Code != http.StatusBadRequest && status.Code != http.StatusUnprocessableEntity ||
				!strings.Contains(status.Message, "data") && !strings.Contains(status.Message, "1e400") {
				t.Errorf("answer %d %.300s; want 400 or 422 that names data or the number", status.Code, status.Message)
			}
		})
	}
}
