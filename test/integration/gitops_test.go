// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/test/argocd"
	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/schema"
)

// applied is an object of a kind after it was applied from a manifest.
func applied(t *testing.T, client *rest.RESTClient, kind schema.Kind) *unstructured.Unstructured {
	t.Helper()
	data, err := client.Patch(types.ApplyYAMLPatchType).AbsPath(kind.Collection(namespace), kind.Item()).Param("fieldManager", "gitops").
		Body([]byte(kind.Object(kind.Item(), ""))).Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("applying a %s: %v", kind.Name, err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestApplyingTheSameAgainWritesNothing(t *testing.T) {
	client := restClient(t, framework.StartStandalone(t).Config())
	for _, kind := range schema.Kinds {
		first, again := applied(t, client, kind), applied(t, client, kind)
		if first.GetResourceVersion() == "" || first.GetResourceVersion() != again.GetResourceVersion() {
			t.Errorf("a %s has resourceVersion %q, and %q after the same was applied again", kind.Name, first.GetResourceVersion(), again.GetResourceVersion())
		}
	}
}

// Flux and others would go on with what depends on an object before anybody had looked at
// it, and so would Argo CD.
func TestNoKindIsTakenForReadyBeforeAnybodyHasLookedAtIt(t *testing.T) {
	checks, err := argocd.Read("../../artifacts/gitops/argocd/argocd-cm.yaml")
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
			t.Errorf("kstatus says %s (%s) of a new %s, want %s", got.Status, got.Message, kind.Name, theirs)
		}
		health, err := checks.Of(object)
		if err != nil {
			t.Fatal(err)
		}
		if health.Status != ours {
			t.Errorf("Argo CD says %s (%s) of a new %s, want %s", health.Status, health.Message, kind.Name, ours)
		}
	}
}
