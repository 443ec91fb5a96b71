// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const published = `
apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines}
spec:
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig:
        caBundle: Cg==
        service: {name: capi-webhook-service, namespace: capi-system, path: /convert}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: capi-controller-manager, namespace: capi-system}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: capi-serving-cert, namespace: capi-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating}
webhooks:
- name: validation.machine
  clientConfig:
    service: {name: capi-webhook-service, namespace: capi-system, path: /validate}
`

func TestManifests_ReachWebhooksByURLAndHaveNoPods(t *testing.T) {
	objects, err := decode([]byte(published))
	if err != nil {
		t.Fatal(err)
	}
	objects, err = adapt(objects, "https://127.0.0.1:1", []byte("CERT"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, u := range objects {
		delete(u.Object, "metadata")
		delete(u.Object, "apiVersion")
		got[u.GetKind()] = u.Object
	}
	want := map[string]any{
		"Namespace": map[string]any{"kind": "Namespace"},
		"CustomResourceDefinition": map[string]any{
			"kind": "CustomResourceDefinition",
			"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"},
				"clientConfig":             map[string]any{"url": "https://127.0.0.1:1/convert", "caBundle": "Q0VSVA=="},
			}}},
		},
		"ValidatingWebhookConfiguration": map[string]any{
			"kind": "ValidatingWebhookConfiguration",
			"webhooks": []any{map[string]any{
				"name":         "validation.machine",
				"clientConfig": map[string]any{"url": "https://127.0.0.1:1/validate", "caBundle": "Q0VSVA=="},
			}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("applied objects (-want +got):\n%s", diff)
	}
}

func TestManifests_WebhookWithoutAServiceIsAnError(t *testing.T) {
	objects, err := decode([]byte(strings.ReplaceAll(published, "service:", "other:")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adapt(objects, "https://127.0.0.1:1", nil); err == nil || !strings.Contains(err.Error(), "CustomResourceDefinition machines") {
		t.Errorf("got %v, want an error that names the definition", err)
	}
}
