// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/schema"
)

// judging refuses one user everything, and nobody else anything: the others of the
// environment, its controllers above all, go on.
const judging = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConditions:
  - {name: user, expression: "request.userInfo.username == '%[1]s'"}
  matchConstraints:
    resourceRules:
    - apiGroups: [vm.slipway.dev, instancetype.slipway.dev, cluster.slipway.dev]
      apiVersions: ["*"]
      operations: ["*"]
      resources: ["*/*"]
  validations:
  - expression: "false"
    messageExpression: "'judged: ' + request.operation + ' ' + request.resource.resource + '/' + (has(request.subResource) ? request.subResource : '')"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// whole are kinds whose objects are about the whole environment: none is made, so that
// only their creation is judged here.
var whole = []string{"VCenter", "Zone", "ContentLibrary", "VirtualMachineImageCache", "ClusterVirtualMachineImage", "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"}

func TestACELPolicyOfTheHostClusterHoldsForAllKindsAndSubresources(t *testing.T) {
	t.Parallel()
	u := admin(t)
	clusterObjects(t, "validatingadmissionpolicy/"+u.namespace, "validatingadmissionpolicybinding/"+u.namespace)
	free := restClientOf(t, rest.ImpersonationConfig{})
	judged := restClientOf(t, rest.ImpersonationConfig{UserName: u.namespace, Groups: []string{"system:masters"}})
	for _, kind := range schema.Kinds {
		if slices.Contains(whole, kind.Name) {
			continue
		}
		if err := free.Post().AbsPath(kind.Collection(u.namespace)).Body([]byte(kind.Object("odd", ""))).Do(t.Context()).Error(); err != nil {
			t.Fatalf("creating a %s: %v", kind.Name, err)
		}
	}
	u.apply(fmt.Sprintf(judging, u.namespace))
	refusal := func(request *rest.Request) string {
		err := request.Param("dryRun", "All").Do(t.Context()).Error()
		if err == nil {
			return "it was allowed"
		}
		_, text, _ := strings.Cut(err.Error(), "judged: ")
		if text == "" {
			return err.Error()
		}
		return text
	}
	first := schema.Kinds[0]
	eventually(t, short, "the policy holds", func() error {
		if got := refusal(judged.Post().AbsPath(first.Collection(u.namespace)).Body([]byte(first.Object("new", "")))); got != "CREATE virtualmachines/" {
			return errorf("%s", got)
		}
		return nil
	})
	for _, kind := range schema.Kinds {
		wants := func(operation, subresource string, request *rest.Request) {
			t.Helper()
			want := fmt.Sprintf("%s %s/%s", operation, kind.Resource, subresource)
			if got := refusal(request); got != want {
				t.Errorf("%s: the policy was to say %q, and the answer was: %s", kind.Name, want, got)
			}
		}
		wants("CREATE", "", judged.Post().AbsPath(kind.Collection(u.namespace)).Body([]byte(kind.Object("judged", ""))))
		if slices.Contains(whole, kind.Name) {
			continue
		}
		patch := func(subresource, body string) *rest.Request {
			return judged.Patch(types.MergePatchType).AbsPath(kind.Collection(u.namespace), "odd", subresource).Body([]byte(body))
		}
		wants("UPDATE", "", patch("", `{"metadata":{"labels":{"a":"b"}}}`))
		if kind.Status {
			wants("UPDATE", "status", patch("status", `{"metadata":{"annotations":{"a":"b"}}}`))
		}
		if slices.Contains(kind.Read, "scale") {
			wants("UPDATE", "scale", patch("scale", `{"spec":{"replicas":3}}`))
		}
		for action, options := range kind.Actions {
			body := fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":%q}`, kind.Group, options)
			wants("CREATE", action, judged.Post().AbsPath(kind.Collection(u.namespace), "odd", action).Body([]byte(body)))
		}
		wants("DELETE", "", judged.Delete().AbsPath(kind.Collection(u.namespace), "odd"))
	}
}

// restClientOf speaks JSON to the paths of kube-apiserver as somebody.
func restClientOf(t *testing.T, as rest.ImpersonationConfig) *rest.RESTClient {
	t.Helper()
	config := environment(t).RestConfig()
	config.Impersonate, config.QPS = as, -1
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1().RESTClient().(*rest.RESTClient)
}

// flow is a FlowSchema for what one user asks of vm.slipway.dev.
const flow = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: %[1]s}
spec:
  matchingPrecedence: 500
  priorityLevelConfiguration: {name: workload-low}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: %[1]s}}]
    resourceRules: [{apiGroups: [vm.slipway.dev], resources: ["*"], verbs: ["*"], namespaces: ["*"]}]
`

func TestRequestsAreServedByTheFlowSchemasOfTheHostCluster(t *testing.T) {
	t.Parallel()
	u := admin(t)
	clusterObjects(t, "flowschema/"+u.namespace)
	u.apply(fmt.Sprintf(flow, u.namespace))
	u.kubectl("create", "rolebinding", "flow", "--clusterrole=slipway-view", "--user="+u.namespace)
	wanted := map[string]string{
		"X-Kubernetes-Pf-Flowschema-Uid":    u.get("flowschema/"+u.namespace, ".metadata.uid"),
		"X-Kubernetes-Pf-Prioritylevel-Uid": u.get("prioritylevelconfiguration/workload-low", ".metadata.uid"),
	}
	config, err := environment(t).DirectConfig(u.namespace)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, long, "the FlowSchema is known", func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/apis/vm.slipway.dev/v1alpha1/namespaces/"+u.namespace+"/virtualmachines", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		for header, want := range wanted {
			if got := answer.Header.Get(header); got != want || want == "" {
				return errorf("%d with %s %q, want %q", answer.StatusCode, header, got, want)
			}
		}
		if answer.StatusCode != http.StatusOK {
			return errorf("status %d", answer.StatusCode)
		}
		return nil
	})
}
