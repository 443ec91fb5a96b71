// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/testenv"
)

// hook is an admission webhook. At /mutate it adds a label. At /validate it rejects VMs whose name begins with bad, and
// all suspensions.
type hook struct {
	*httptest.Server
	mu sync.Mutex
	// asked are the operations and resources of the reviews that it received, each once.
	asked map[string]bool
}

func newHook(t *testing.T) *hook {
	h := &hook{asked: map[string]bool{}}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) serve(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	q := review.Request
	h.mu.Lock()
	h.asked[strings.TrimSuffix(fmt.Sprintf("%s %s/%s", q.Operation, q.Resource.Resource, q.SubResource), "/")] = true
	h.mu.Unlock()
	answer := &admissionv1.AdmissionResponse{UID: q.UID, Allowed: true}
	switch {
	case r.URL.Path == "/mutate":
		patch := admissionv1.PatchTypeJSONPatch
		answer.PatchType, answer.Patch = &patch, []byte(`[{"op":"add","path":"/metadata/labels","value":{"hooked":"true"}}]`)
	case q.SubResource == "suspend" || strings.HasPrefix(q.Name, "bad"):
		answer.Allowed, answer.Result = false, &metav1.Status{Message: "refused by the hook"}
	}
	review.Request, review.Response = nil, answer
	_ = json.NewEncoder(w).Encode(&review)
}

// manifest has both webhook configurations, for one namespace.
func (h *hook) manifest(namespace string) string {
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	var b strings.Builder
	for kind, lines := range map[string]string{
		"Mutating":   "operations: [CREATE], resources: [virtualmachines]",
		"Validating": `operations: [CREATE, UPDATE], resources: [virtualmachines, virtualmachines/suspend, virtualmachines/start]`,
	} {
		path := map[string]string{"Mutating": "/mutate", "Validating": "/validate"}[kind]
		fmt.Fprintf(&b, `
---
apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata: {name: %s}
webhooks:
- name: hook.slipway.example
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  rules: [{apiGroups: [vm.slipway.dev], apiVersions: ["*"], %s}]
  clientConfig: {url: "%s%s", caBundle: %s}
`, kind, namespace, namespace, lines, h.URL, path, ca)
	}
	return b.String()
}

func TestWebhooks_HoldForVirtualMachinesAndTheirSubresources(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.RemoveAtEnd("mutatingwebhookconfiguration/"+u.Namespace, "validatingwebhookconfiguration/"+u.Namespace)
	h := newHook(t)
	u.Put(testenv.Catalogue + h.manifest(u.Namespace))
	testenv.Eventually(t, testenv.Long, "the webhooks receive reviews", func() error {
		_, errOut, err := u.Try(testenv.VM("bad"), "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "refused by the hook") {
			return fmt.Errorf("%v: %s", err, errOut)
		}
		return nil
	})
	u.Denied(testenv.VM("bad"), "hook.slipway.example", "refused by the hook")
	testenv.Eventually(t, testenv.Long, "new VMs are labelled", func() error {
		out, errOut, err := u.Try(testenv.VM("probe"), "kubectl", "create", "--dry-run=server", "-o", "jsonpath={.metadata.labels.hooked}", "-f", "-")
		if err != nil || out != "true" {
			return fmt.Errorf("%v: %s%s", err, out, errOut)
		}
		return nil
	})
	u.Put(testenv.VM("web"))
	if got := u.Get("vm/web", ".metadata.labels.hooked"); got != "true" {
		t.Errorf("the label of the mutating webhook is %q", got)
	}
	u.Ready("vm/web")
	if _, errOut, err := u.Try("", "virtctl", "suspend", "web"); err == nil || !strings.Contains(errOut, "refused by the hook") {
		t.Errorf("a suspension that the webhook refuses: %v %s", err, errOut)
	}
	u.Virtctl("start", "web")
	h.mu.Lock()
	for _, want := range []string{"CREATE virtualmachines", "CREATE virtualmachines/suspend", "CREATE virtualmachines/start", "UPDATE virtualmachines"} {
		if !h.asked[want] {
			t.Errorf("the webhook was not asked for %s, but for %v", want, h.asked)
		}
	}
	h.mu.Unlock()

	h.CloseClientConnections()
	h.Close()
	u.Denied(testenv.VM("late"), "failed calling webhook", "hook.slipway.example")
}
