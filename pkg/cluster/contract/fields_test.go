// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	j, err := yaml.YAMLToJSON([]byte("apiVersion: example.org/v1\nkind: ExampleMachine\nmetadata: {name: a, namespace: ns}\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(j); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFields_UseThePathsOfTheContract(t *testing.T) {
	newer, older, assumed := Kind{Version: V1Beta2}, Kind{Version: V1Beta1}, Kind{Version: V1Beta2, Assumed: true}
	tests := []struct {
		name, text string
		kind       Kind
		want       bool
	}{
		{"v1beta2", "status: {initialization: {provisioned: true, dataSecretCreated: true, controlPlaneInitialized: true}}", newer, true},
		{"v1beta2 ignores fields of v1beta1", "status: {ready: true, initialized: true}", newer, false},
		{"v1beta1", "status: {ready: true, initialized: true}", older, true},
		{"v1beta1 ignores fields of v1beta2", "status: {initialization: {provisioned: true, dataSecretCreated: true, controlPlaneInitialized: true}}", older, false},
		{"no label, fields of v1beta2", "status: {ready: true, initialized: true, initialization: {provisioned: false}}", assumed, false},
		{"no label, fields of v1beta1", "status: {ready: true, initialized: true}", assumed, true},
		{"no label, no fields", "spec: {}", assumed, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := parse(t, test.text)
			for name, get := range map[string]func(Kind, *object) (bool, error){
				"provisioned": IsInfraProvisioned, "created": IsBootstrapCreated, "initialized": IsControlPlaneInitialized,
			} {
				if got, err := get(test.kind, o); got != test.want || err != nil {
					t.Errorf("%s: %t, error %v", name, got, err)
				}
			}
		})
	}
}

func TestFields_ReturnValues(t *testing.T) {
	o := parse(t, `
spec: {providerID: "vsphere://1", failureDomain: old, controlPlaneEndpoint: {host: h, port: 6443}}
status:
  dataSecretName: s
  failureDomain: zone
  failureReason: r
  failureMessage: m
  interruptible: true
  externalManagedControlPlane: true
  addresses: [{type: InternalIP, address: 10.0.0.1}, {type: Hostname, address: "a\u202e"}]
`)
	for name, f := range map[string]struct {
		get  func(*object) (string, error)
		want string
	}{
		"provider ID": {ProviderID, "vsphere://1"}, "old failure domain": {OldFailureDomain, "old"},
		"data secret": {DataSecretName, "s"}, "failure domain": {FailureDomain, "zone"},
	} {
		if got, err := f.get(o); got != f.want || err != nil {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
	for name, get := range map[string]func(*object) (bool, error){"interruptible": IsInterruptible, "externally managed": IsExternallyManaged} {
		if got, err := get(o); !got || err != nil {
			t.Errorf("%s: %t, error %v", name, got, err)
		}
	}
	reason, message, err := Failure(o)
	if reason != "r" || message != "m" || err != nil {
		t.Errorf("failure %q %q, error %v", reason, message, err)
	}
	addresses, err := Addresses(o)
	if diff := cmp.Diff([]clusterv1alpha1.MachineAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "Hostname", Address: "a"}}, addresses); diff != "" || err != nil {
		t.Errorf("addresses, error %v (-want +got):\n%s", err, diff)
	}
	endpoint, err := ControlPlaneEndpoint(o)
	if diff := cmp.Diff(clusterv1alpha1.APIEndpoint{Host: "h", Port: 6443}, endpoint); diff != "" || err != nil {
		t.Errorf("endpoint, error %v (-want +got):\n%s", err, diff)
	}
}

func TestFields_AreEmptyIfMissing(t *testing.T) {
	o := parse(t, "")
	provider, err1 := ProviderID(o)
	addresses, err2 := Addresses(o)
	endpoint, err3 := ControlPlaneEndpoint(o)
	ready, err4 := ReadyCondition(o)
	if provider != "" || addresses != nil || endpoint != (clusterv1alpha1.APIEndpoint{}) || ready != nil || err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		t.Errorf("got %q %v %v %v, errors %v %v %v %v", provider, addresses, endpoint, ready, err1, err2, err3, err4)
	}
}

// Behaviors MB54 of test/behaviours: a field of the wrong type is an error and not treated as empty.
func TestFields_ReportInvalidValuesWithTheirPath(t *testing.T) {
	boolOfKind := func(f func(Kind, *object) (bool, error), k Kind) func(*object) error {
		return func(o *object) error { _, err := f(k, o); return err }
	}
	boolOf := func(f func(*object) (bool, error)) func(*object) error {
		return func(o *object) error { _, err := f(o); return err }
	}
	stringOf := func(f func(*object) (string, error)) func(*object) error {
		return func(o *object) error { _, err := f(o); return err }
	}
	list := func(o *object) error { _, err := Addresses(o); return err }
	ready := func(o *object) error { _, err := ReadyCondition(o); return err }
	endpoint := func(o *object) error { _, err := ControlPlaneEndpoint(o); return err }
	failure := func(o *object) error { _, _, err := Failure(o); return err }
	tests := []struct {
		path, text string
		read       func(*object) error
	}{
		{"status.initialization.provisioned", "status: {initialization: {provisioned: 'true'}}", boolOfKind(IsInfraProvisioned, Kind{Version: V1Beta2})},
		{"status.ready", "status: {ready: 1}", boolOfKind(IsBootstrapCreated, Kind{Version: V1Beta1})},
		{"status.initialization", "status: 7", boolOfKind(IsInfraProvisioned, Kind{Version: V1Beta2, Assumed: true})},
		{"status.interruptible", "status: {interruptible: {}}", boolOf(IsInterruptible)},
		{"status.externalManagedControlPlane", "status: {externalManagedControlPlane: 0}", boolOf(IsExternallyManaged)},
		{"spec.providerID", "spec: {providerID: [a]}", stringOf(ProviderID)},
		{"spec.providerID", "spec: {providerID: " + strings.Repeat("x", maxText+1) + "}", stringOf(ProviderID)},
		{"status.failureDomain", "status: {failureDomain: " + strings.Repeat("x", maxName+1) + "}", stringOf(FailureDomain)},
		{"spec.failureDomain", "spec: {failureDomain: " + strings.Repeat("x", maxName+1) + "}", stringOf(OldFailureDomain)},
		{"status.failureDomain", `status: {failureDomain: "a\x1bb"}`, stringOf(FailureDomain)},
		{"status.dataSecretName", "status: {dataSecretName: true}", stringOf(DataSecretName)},
		{"status.failureReason", "status: {failureReason: true}", failure},
		{"status.failureReason", "status: {failureReason: " + strings.Repeat("x", maxName+1) + "}", failure},
		{"status.failureMessage", "status: {failureMessage: true}", failure},
		{"status.addresses", "status: {addresses: x}", list},
		{"status.addresses", "status: {addresses: [x]}", list},
		{"status.addresses", "status: {addresses: [{type: IPv4, address: 1.1.1.1}]}", list},
		{"status.addresses", "status: {addresses: [{type: InternalIP}]}", list},
		{"status.addresses", "status: {addresses: [" + strings.Repeat("{type: Hostname, address: a},", maxAddresses+1) + "]}", list},
		{"spec.controlPlaneEndpoint.port", "spec: {controlPlaneEndpoint: {port: 65536}}", endpoint},
		{"spec.controlPlaneEndpoint.port", "spec: {controlPlaneEndpoint: {port: x}}", endpoint},
		{"status.conditions", "status: {conditions: 1}", ready},
		{"status.conditions", "status: {conditions: [{type: Ready, status: Yes}]}", ready},
		{"status.conditions", "status: {conditions: [{type: Ready, status: 'True', reason: 5}]}", ready},
		{"status.conditions", "status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: yesterday}]}", ready},
	}
	for _, test := range tests {
		err := test.read(parse(t, test.text))
		if err == nil || !strings.HasPrefix(err.Error(), test.path+" of ExampleMachine ns/a: ") {
			t.Errorf("%.60s: error %v", test.text, err)
		}
	}
}

// The API server would reject the whole status because of one invalid reason.
func TestReadyCondition_MovesInvalidReasonsIntoTheMessage(t *testing.T) {
	for reason, want := range map[string][2]string{
		"Fine":                         {"Fine", "m"},
		"not at all":                   {"", "not at all: m"},
		"Ends:":                        {"", "Ends:: m"},
		strings.Repeat("x", maxName):   {strings.Repeat("x", maxName), "m"},
		strings.Repeat("x", maxName+1): {"", strings.Repeat("x", maxName+1) + ": m"},
	} {
		got, err := ReadyCondition(parse(t, fmt.Sprintf("status: {conditions: [{type: Ready, status: 'False', reason: %q, message: m}]}", reason)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != metav1.ConditionFalse || got.Reason != want[0] || got.Message != want[1] {
			t.Errorf("%s: %s, reason %q, message %q, want %q and %q", reason, got.Status, got.Reason, got.Message, want[0], want[1])
		}
	}
}

func TestReadyCondition_ReadsAllContractVersions(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	want := &metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "R", Message: "m", LastTransitionTime: at}
	const ready = "{type: Ready, status: 'False', reason: R, message: m, severity: Info, lastTransitionTime: '2026-01-02T03:04:05Z'}"
	for name, text := range map[string]string{
		"conditions":                          "status: {conditions: [{type: Other, status: Bad}, " + ready + "]}",
		"conditions of v1beta2 before others": "status: {conditions: [{type: Ready, status: 'True'}], v1beta2: {conditions: [" + ready + "]}}",
	} {
		got, err := ReadyCondition(parse(t, text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}
