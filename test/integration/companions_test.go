// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// companion is a kind that specifies operations on virtual machines.
type companion struct {
	kind, resource string
	// spec is a valid spec, and status is a status as a controller sets it.
	spec, status string
	// refused are invalid specs with their messages.
	refused map[string]string
	// patch is a patch of a spec, and patched is its message; it is empty if the patch is allowed.
	patch, patched string
}

var companions = []companion{
	{
		kind: "VirtualMachineSnapshot", resource: "virtualmachinesnapshots",
		spec: `{"vmName":"web","memory":true}`, status: `{"uniqueID":"snapshot-1"}`,
		refused: map[string]string{
			`{}`:               "spec.vmName: Required",
			`{"vmName":"A b"}`: "spec.vmName: Invalid",
			`{"vmName":"web","quiesce":{"timeoutSeconds":5}}`: "spec.quiesce.timeoutSeconds: Invalid",
			`{"vmName":"web","memory":true,"quiesce":{}}`:     "spec.quiesce: Forbidden",
		},
		patch: `{"spec":{"vmName":"db"}}`, patched: "spec: Forbidden",
	},
	{
		kind: "VirtualMachineGroup", resource: "virtualmachinegroups",
		spec: `{"bootOrder":[{"members":[{"name":"db"}]}]}`, status: `{"powerState":"PoweredOn"}`,
		refused: map[string]string{
			`{"bootOrder":[{"members":[{"name":"A b"}]}]}`:                               "spec.bootOrder[0].members[0].name: Invalid",
			`{"bootOrder":[{"members":[{"kind":"Pod","name":"db"}]}]}`:                   "spec.bootOrder[0].members[0].kind: Unsupported",
			`{"bootOrder":[{"members":[{"name":"db"}],"waitFor":"Luck"}]}`:               "spec.bootOrder[0].waitFor: Unsupported",
			`{"bootOrder":[{"members":[{"name":"db"}],"powerOnDelaySeconds":-1}]}`:       "spec.bootOrder[0].powerOnDelaySeconds: Invalid",
			`{"powerState":"Sleeping"}`:                                                  "spec.powerState: Unsupported",
			`{"bootOrder":[{"members":[{"kind":"VirtualMachineGroup","name":"shop"}]}]}`: "spec.bootOrder[0].members[0].name: Invalid",
		},
		patch: `{"spec":{"powerState":"PoweredOff"}}`,
	},
	{
		kind: "VirtualMachinePublishRequest", resource: "virtualmachinepublishrequests",
		spec: `{"source":{"name":"web"},"target":{"contentLibrary":"shared"}}`, status: `{"attempts":2}`,
		refused: map[string]string{
			`{}`: "spec.target.contentLibrary: Required",
			`{"source":{"name":"A b"},"target":{"contentLibrary":"shared"}}`:      "spec.source.name: Invalid",
			`{"target":{"contentLibrary":"A b"}}`:                                 "spec.target.contentLibrary: Invalid",
			`{"target":{"contentLibrary":"shared"},"ttlSecondsAfterFinished":-1}`: "spec.ttlSecondsAfterFinished: Invalid",
		},
		patch: `{"spec":{"source":{"name":"db"}}}`, patched: "spec.source: Forbidden",
	},
}

func TestCompanionKinds_AreValidatedAndHaveAStatus(t *testing.T) {
	// In JSON, as kubectl speaks.
	config := framework.StartStandalone(t).Config()
	config.ContentType, config.AcceptContentTypes = "", ""
	client, err := dynamic.NewForConfig(rest.CopyConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range companions {
		objects := client.Resource(vmv1alpha1.SchemeGroupVersion.WithResource(c.resource)).Namespace(namespace)
		t.Run(c.kind, func(t *testing.T) { c.test(t, objects) })
	}
}

func (c *companion) test(t *testing.T, objects dynamic.ResourceInterface) {
	for spec, want := range c.refused {
		if _, err := objects.Create(t.Context(), c.object(t, spec), metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", spec, err, want)
		}
	}
	made, err := objects.Create(t.Context(), c.object(t, c.spec), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := c.statusOf(made)
	if cmp.Equal(before, asMap(t, c.status)) || made.GetGeneration() != 1 {
		t.Errorf("a new object has generation %d and the status %v from its author", made.GetGeneration(), before)
	}

	patch := func(patch string, subresources ...string) (*unstructured.Unstructured, error) {
		return objects.Patch(t.Context(), "shop", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	}
	got, err := patch(`{"metadata":{"labels":{"a":"b"}},"status":` + c.status + `}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, c.statusOf(got)); diff != "" || got.GetLabels()["a"] != "b" || got.GetGeneration() != 1 {
		t.Errorf("the main endpoint gave labels %v, generation %d and status (-before +after):\n%s", got.GetLabels(), got.GetGeneration(), diff)
	}

	spec := strings.TrimSuffix(c.patch, "}")
	if got, err = patch(spec+`,"metadata":{"labels":{"a":"c"}},"status":`+c.status+`}`, "status"); err != nil {
		t.Fatal(err)
	}
	for key, want := range asMap(t, c.status) {
		if diff := cmp.Diff(want, c.statusOf(got)[key]); diff != "" {
			t.Errorf("%s as the status endpoint stored it (-want +got):\n%s", key, diff)
		}
	}
	if diff := cmp.Diff(made.Object["spec"], got.Object["spec"]); diff != "" || got.GetLabels()["a"] != "b" || got.GetGeneration() != 1 {
		t.Errorf("the status endpoint gave labels %v, generation %d and spec (-before +after):\n%s", got.GetLabels(), got.GetGeneration(), diff)
	}
	const nonsense = `{"status":{"conditions":[{"type":"Ready","status":"Perhaps","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if _, err = patch(nonsense, "status"); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "status.conditions[0].status") {
		t.Errorf("a condition with an invalid status: %v, want an error with its field", err)
	}

	got, err = patch(c.patch)
	switch {
	case c.patched == "" && (err != nil || got.GetGeneration() != 2):
		t.Errorf("%s: %v, generation %d, want 2", c.patch, err, got.GetGeneration())
	case c.patched != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.patched)):
		t.Errorf("%s: %v, want an error with %q", c.patch, err, c.patched)
	}
}

// object returns an object with a spec, and a status that its author cannot set.
func (c *companion) object(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": vmv1alpha1.SchemeGroupVersion.String(), "kind": c.kind, "metadata": map[string]any{"name": "shop"},
		"spec": asMap(t, spec), "status": asMap(t, c.status),
	}}
}

func (c *companion) statusOf(u *unstructured.Unstructured) map[string]any {
	status, _ := u.Object["status"].(map[string]any)
	return status
}

// asMap decodes JSON with integers, as clients do.
func asMap(t *testing.T, text string) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"Any","is":`+text+`}`), u); err != nil {
		t.Fatal(err)
	}
	return u.Object["is"].(map[string]any)
}
