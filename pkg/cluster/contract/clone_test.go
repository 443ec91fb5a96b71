// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func template(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := parse(t, text)
	o.SetKind("ExampleMachineTemplate")
	return o
}

func TestClone_CreatesAnObjectFromATemplate(t *testing.T) {
	from := template(t, `
spec:
  template:
    metadata: {labels: {a: template, b: template}, annotations: {c: template}, name: no, finalizers: [no]}
    spec: {size: {cpus: 2}}
    status: {ready: true}
`)
	before := from.DeepCopy()
	owner := &metav1.OwnerReference{APIVersion: "v1", Kind: "Owner", Name: "o", UID: "u"}
	got, err := Clone(from, ObjectMetadata{Namespace: "ns", Name: "m-1", Labels: map[string]string{"a": "given"}, Annotations: map[string]string{"d": "given"}, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	want := &unstructured.Unstructured{}
	const text = `
apiVersion: example.org/v1
kind: ExampleMachine
metadata:
  name: m-1
  namespace: ns
  labels: {a: given, b: template}
  annotations:
    c: template
    d: given
    cluster.x-k8s.io/cloned-from-name: a
    cluster.x-k8s.io/cloned-from-groupkind: ExampleMachineTemplate.example.org
  ownerReferences: [{apiVersion: v1, kind: Owner, name: o, uid: u}]
spec: {size: {cpus: 2}}
`
	if err := yaml.Unmarshal([]byte(text), &want.Object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(marshal(t, want), marshal(t, got)); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, from); diff != "" {
		t.Errorf("the template was changed (-before +after):\n%s", diff)
	}
}

// marshal encodes an object as JSON, so that numbers of different Go types compare equal.
func marshal(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestClone_CreatesAnEmptyObjectWithoutSpecTemplate(t *testing.T) {
	got, err := Clone(template(t, "spec: {}"), ObjectMetadata{Namespace: "ns", Name: "m"})
	if err != nil || got.GetKind() != "ExampleMachine" || got.GetName() != "m" || got.GetLabels() != nil {
		t.Errorf("got %v, error %v", got, err)
	}
}

func TestClone_RejectsInvalidTemplates(t *testing.T) {
	if _, err := Clone(parse(t, ""), ObjectMetadata{}); err == nil || !strings.Contains(err.Error(), "is not a template") {
		t.Errorf("error %v", err)
	}
	for path, text := range map[string]string{
		"spec.template":                      "spec: {template: 1}",
		"spec.template.metadata.labels":      "spec: {template: {metadata: {labels: {a: 1}}}}",
		"spec.template.metadata.annotations": "spec: {template: {metadata: {annotations: []}}}",
	} {
		if _, err := Clone(template(t, text), ObjectMetadata{}); err == nil || !strings.HasPrefix(err.Error(), path+" of ") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
