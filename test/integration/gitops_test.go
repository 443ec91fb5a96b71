// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/rest"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/test/argocd"
	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/schema"
)

// applied is an object that was applied from a manifest.
func applied(t *testing.T, client *rest.RESTClient, kind schema.Kind) *unstructured.Unstructured {
	t.Helper()
	return patched(t, client, kind, types.ApplyYAMLPatchType, "gitops", []byte(kind.Object(kind.Item(), "")))
}

// age sets all times in the managed fields of an object to an earlier time, so that a second entry with the same time
// cannot hide a write. It also sets an annotation, because an update that only changes times is ignored.
func age(t *testing.T, client *rest.RESTClient, kind schema.Kind, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	earlier := metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	entries := object.GetManagedFields()
	for i := range entries {
		entries[i].Time = &earlier
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"aged": "yes"}, "managedFields": entries}})
	if err != nil {
		t.Fatal(err)
	}
	aged := patched(t, client, kind, types.MergePatchType, "ager", patch)
	for _, entry := range aged.GetManagedFields() {
		if entry.Manager != "ager" && !entry.Time.Equal(&earlier) {
			t.Fatalf("the managed fields of a %s are of %s by %s, want %s", kind.Name, entry.Time, entry.Manager, earlier)
		}
	}
	return aged
}

func patched(t *testing.T, client *rest.RESTClient, kind schema.Kind, format types.PatchType, manager string, patch []byte) *unstructured.Unstructured {
	t.Helper()
	data, err := client.Patch(format).AbsPath(kind.Collection(namespace), kind.Item()).Param("fieldManager", manager).Body(patch).Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("patching a %s with %s: %v", kind.Name, patch, err)
	}
	return decoded(t, data)
}

func decoded(t *testing.T, data []byte) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return object
}

// applyClientSide does what kubectl apply does without --server-side: it creates the object, or sends the difference
// between the manifest, the previous manifest and the object. With an empty difference it sends nothing.
func applyClientSide(t *testing.T, client *rest.RESTClient, kind schema.Kind, live *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	manifest := kind.Object(kind.Item(), "")
	annotations, err := json.Marshal(map[string]string{corev1.LastAppliedConfigAnnotation: manifest})
	if err != nil {
		t.Fatal(err)
	}
	modified := kind.Object(kind.Item(), `,"annotations":`+string(annotations))
	if live == nil {
		data, err := client.Post().AbsPath(kind.Collection(namespace)).Param("fieldManager", "kubectl-client-side-apply").
			SetHeader("Content-Type", "application/json").Body([]byte(modified)).Do(t.Context()).Raw()
		if err != nil {
			t.Fatalf("creating a %s: %v", kind.Name, err)
		}
		return decoded(t, data)
	}
	current, err := live.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(manifest), []byte(modified), current)
	if err != nil {
		t.Fatal(err)
	}
	if string(patch) == "{}" {
		return live
	}
	return patched(t, client, kind, types.MergePatchType, "kubectl-client-side-apply", patch)
}

// Times in managedFields have a resolution of one second. With the current time the object would be byte-identical, and
// etcd would not be written even if the server changed the time.
func TestApply_OfTheSameManifestWritesNothing(t *testing.T) {
	for way, apply := range map[string]func(*testing.T, *rest.RESTClient, schema.Kind, *unstructured.Unstructured) *unstructured.Unstructured{
		"server-side apply": func(t *testing.T, client *rest.RESTClient, kind schema.Kind, _ *unstructured.Unstructured) *unstructured.Unstructured {
			return applied(t, client, kind)
		},
		"kubectl apply": applyClientSide,
	} {
		t.Run(way, func(t *testing.T) {
			client := restClient(t, framework.StartStandalone(t).Config())
			for _, kind := range schema.Kinds {
				first := age(t, client, kind, apply(t, client, kind, nil))
				again := apply(t, client, kind, first)
				if first.GetResourceVersion() == "" || first.GetResourceVersion() != again.GetResourceVersion() {
					t.Errorf("a %s has resourceVersion %q, and %q after the same was applied again", kind.Name, first.GetResourceVersion(), again.GetResourceVersion())
				}
			}
		})
	}
}

// Flux, Argo CD and others would treat a new object as ready before the controller has reconciled it.
func TestKstatus_NewObjectIsNotReadyBeforeItsFirstReconcile(t *testing.T) {
	checks, err := argocd.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	client := restClient(t, framework.StartStandalone(t).Config())
	for _, kind := range schema.Kinds {
		theirs, ours := kstatus.CurrentStatus, "Healthy" // there is nothing to wait for
		if kind.Status && kind.Name != "VirtualMachineInstance" {
			theirs, ours = kstatus.InProgressStatus, "Progressing"
		}
		object := applied(t, client, kind)
		got, err := kstatus.Compute(object)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != theirs {
			t.Errorf("kstatus is %s (%s) for a new %s, want %s", got.Status, got.Message, kind.Name, theirs)
		}
		health, err := checks.Of(object)
		if err != nil {
			t.Fatal(err)
		}
		if health.Status != ours {
			t.Errorf("Argo CD health is %s (%s) for a new %s, want %s", health.Status, health.Message, kind.Name, ours)
		}
	}
}
