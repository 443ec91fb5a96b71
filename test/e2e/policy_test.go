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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policies are for the namespace and under the name that it is formatted with.
const policies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - apiGroups: [vm.slipway.dev]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE]
      resources: [virtualmachines, virtualmachines/refresh-instancetype]
  validations:
  - expression: "has(request.subResource) || !has(object.spec.cpu) || object.spec.cpu.sockets <= 2"
    messageExpression: "'at most 2 sockets here, not ' + string(object.spec.cpu.sockets)"
  - expression: "!has(request.subResource) || has(object.dryRun)"
    message: "sizes are refreshed by the platform team"
  - expression: >-
      has(request.subResource) || request.operation != 'UPDATE' || !has(object.metadata.labels) || !('frozen' in object.metadata.labels)
      || object.spec.powerState == oldObject.spec.powerState
    message: "a frozen VM keeps its power state"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// clusterObjects deletes objects of the cluster when the test ends.
func clusterObjects(t *testing.T, objects ...string) {
	t.Cleanup(func() {
		args := append([]string{"--kubeconfig", environment(t).AdminKubeconfig, "delete", "--ignore-not-found", "--wait=false"}, objects...)
		if out, err := exec.Command(filepath.Join(binDir, "kubectl"), args...).CombinedOutput(); err != nil {
			t.Logf("deleting %s: %v\n%s", objects, err, out)
		}
	})
}

func TestACELPolicyOfTheHostClusterHoldsForVirtualMachinesAndTheirSubresources(t *testing.T) {
	t.Parallel()
	u := admin(t)
	clusterObjects(t, "validatingadmissionpolicy/"+u.namespace, "validatingadmissionpolicybinding/"+u.namespace)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.apply(fmt.Sprintf(policies, u.namespace))
	big := vmWith("big", "cpu: {sockets: 3}", "memory: {guest: 1Gi}")
	eventually(t, long, "the policy holds", func() error {
		_, errOut, err := u.try(big, "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "at most 2 sockets here, not 3") {
			return errorf("%v: %s", err, errOut)
		}
		return nil
	})
	u.refused(big, []string{"create", "-f", "-"}, "ValidatingAdmissionPolicy", "at most 2 sockets here, not 3")

	u.kubectl("patch", "virtualmachineinstancetype/small", "--type=merge", "-p", `{"spec":{"memory":{"guest":"3Gi"}}}`)
	u.virtctl("refresh", "instancetype", "web", "--dry-run")
	captured := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	if _, errOut, err := u.try("", "virtctl", "refresh", "instancetype", "web"); err == nil || !strings.Contains(errOut, "sizes are refreshed by the platform team") {
		t.Errorf("a refresh that the policy denies: %v %s", err, errOut)
	}
	if got := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != captured {
		t.Errorf("the denied refresh changed the revision from %q to %q", captured, got)
	}

	// What a power endpoint makes of the VM is an update of it.
	u.kubectl("label", "vm/web", "frozen=true")
	if _, errOut, err := u.try("", "virtctl", "stop", "web", "--mode", "Hard"); err == nil || !strings.Contains(errOut, "a frozen VM keeps its power state") {
		t.Errorf("stopping a VM that the policy freezes: %v %s", err, errOut)
	}
	if got := u.get("vm/web", ".spec.powerState"); got != "PoweredOn" {
		t.Errorf("the denied stop left spec.powerState %q", got)
	}
	u.kubectl("label", "vm/web", "frozen-")
	u.virtctl("stop", "web", "--mode", "Hard")
	u.wants("vm/web", ".status.powerState", "PoweredOff") // controllers write status unhindered
}

func TestTheExampleOfQuotaAndPolicyHolds(t *testing.T) {
	t.Parallel()
	clusterObjects(t, "validatingadmissionpolicy/vm-sizes", "validatingadmissionpolicybinding/vm-sizes", "namespace/team-a")
	example, err := os.ReadFile("../../artifacts/examples/quota.yaml")
	if err != nil {
		t.Fatal(err)
	}
	u := user{t: t, kubeconfig: environment(t).AdminKubeconfig, namespace: "team-a"}
	u.apply(string(example))
	for cpu, want := range map[string]string{
		"{sockets: 9}":           "at most 8 sockets, not 9",
		"{sockets: 8, cores: 8}": "exceeded quota: team, requested: running.vm.slipway.dev/vcpus=64, used: running.vm.slipway.dev/vcpus=0, limited: running.vm.slipway.dev/vcpus=32",
	} {
		manifest := vmWith("big", "cpu: "+cpu, "memory: {guest: 4Gi}", "bootDisk: {size: 20Gi}")
		eventually(t, discovered, cpu+" is refused", func() error {
			_, errOut, err := u.try(manifest, "kubectl", "create", "--dry-run=server", "-f", "-")
			if err == nil || !strings.Contains(errOut, want) {
				return errorf("%v: %s", err, errOut)
			}
			return nil
		})
	}
}

// hook is an admission webhook: at /mutate it labels, at /validate it refuses VMs whose
// name begins with bad, and all suspensions.
type hook struct {
	*httptest.Server
	mu sync.Mutex
	// asked are the operations and resources that it was asked for, each once.
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
		answer.Allowed, answer.Result = false, &metav1.Status{Message: "the hook says no"}
	}
	review.Request, review.Response = nil, answer
	_ = json.NewEncoder(w).Encode(&review)
}

// manifest is both configurations, for one namespace.
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

func TestWebhooksOfTheHostClusterHoldForVirtualMachinesAndTheirSubresources(t *testing.T) {
	t.Parallel()
	u := admin(t)
	clusterObjects(t, "mutatingwebhookconfiguration/"+u.namespace, "validatingwebhookconfiguration/"+u.namespace)
	h := newHook(t)
	u.apply(catalogue + h.manifest(u.namespace))
	eventually(t, long, "the hooks are asked", func() error {
		_, errOut, err := u.try(vmManifest("bad"), "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "the hook says no") {
			return errorf("%v: %s", err, errOut)
		}
		return nil
	})
	u.refused(vmManifest("bad"), []string{"create", "-f", "-"}, "hook.slipway.example", "the hook says no")
	eventually(t, long, "new VMs are labelled", func() error {
		out, errOut, err := u.try(vmManifest("probe"), "kubectl", "create", "--dry-run=server", "-o", "jsonpath={.metadata.labels.hooked}", "-f", "-")
		if err != nil || out != "true" {
			return errorf("%v: %s%s", err, out, errOut)
		}
		return nil
	})
	u.apply(vmManifest("web"))
	if got := u.get("vm/web", ".metadata.labels.hooked"); got != "true" {
		t.Errorf("the label of the mutating webhook is %q", got)
	}
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	if _, errOut, err := u.try("", "virtctl", "suspend", "web"); err == nil || !strings.Contains(errOut, "the hook says no") {
		t.Errorf("a suspension that the webhook refuses: %v %s", err, errOut)
	}
	u.virtctl("start", "web")
	h.mu.Lock()
	for _, want := range []string{"CREATE virtualmachines", "CREATE virtualmachines/suspend", "CREATE virtualmachines/start", "UPDATE virtualmachines"} {
		if !h.asked[want] {
			t.Errorf("the webhook was not asked for %s, but for %v", want, h.asked)
		}
	}
	h.mu.Unlock()

	h.CloseClientConnections()
	h.Close()
	u.refused(vmManifest("late"), []string{"create", "-f", "-"}, "failed calling webhook", "hook.slipway.example")
}

func TestNothingIsMadeInANamespaceThatIsMissingOrBeingDeleted(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	nowhere := u
	nowhere.namespace = "nowhere-at-all"
	nowhere.refused(vmManifest("web"), []string{"create", "-f", "-"}, `namespaces "nowhere-at-all" not found`)
	u.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stays, finalizers: [slipway.example/test]}\n")
	t.Cleanup(func() {
		args := []string{"--kubeconfig", u.kubeconfig, "-n", u.namespace, "patch", "configmap/stays", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`}
		if out, err := exec.Command(filepath.Join(binDir, "kubectl"), args...).CombinedOutput(); err != nil {
			t.Logf("letting the namespace go: %v\n%s", err, out)
		}
	})
	u.kubectl("delete", "namespace", u.namespace, "--wait=false")
	eventually(t, long, "the namespace takes no new VM", func() error {
		_, errOut, err := u.try(vmManifest("web"), "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "because it is being terminated") {
			return errorf("%v: %s", err, errOut)
		}
		return nil
	})
}
