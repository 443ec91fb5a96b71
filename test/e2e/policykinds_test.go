// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/schema"
	"github.com/slipway-dev/slipway/test/testenv"
)

// judging rejects all requests of one user and no others, so the rest of the environment, including the controllers, is
// not affected.
const judging = `# in %[2]s
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

// whole are kinds whose objects affect the whole environment. None is created, so only their creation is tested here.
var whole = []string{"VCenter", "Zone", "ContentLibrary", "VirtualMachineImageCache", "ClusterVirtualMachineImage", "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"}

func (u user) judgesAllKinds(t *testing.T, who string) {
	free := restClientOf(t, rest.ImpersonationConfig{})
	judged := restClientOf(t, rest.ImpersonationConfig{UserName: who, Groups: []string{"system:masters"}})
	for _, kind := range schema.Kinds {
		if slices.Contains(whole, kind.Name) {
			continue
		}
		if err := free.Post().AbsPath(kind.Collection(u.Namespace)).Body([]byte(kind.Object("odd", ""))).Do(t.Context()).Error(); err != nil {
			t.Fatalf("creating a %s: %v", kind.Name, err)
		}
	}
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
	testenv.Eventually(t, testenv.Short, "the policy holds", func() error {
		if got := refusal(judged.Post().AbsPath(first.Collection(u.Namespace)).Body([]byte(first.Object("new", "")))); got != "CREATE virtualmachines/" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	for _, kind := range schema.Kinds {
		wants := func(operation, subresource string, request *rest.Request) {
			t.Helper()
			want := fmt.Sprintf("%s %s/%s", operation, kind.Resource, subresource)
			if got := refusal(request); got != want {
				t.Errorf("%s: want the policy's message %q, got: %s", kind.Name, want, got)
			}
		}
		wants("CREATE", "", judged.Post().AbsPath(kind.Collection(u.Namespace)).Body([]byte(kind.Object("judged", ""))))
		if slices.Contains(whole, kind.Name) {
			continue
		}
		patch := func(subresource, body string) *rest.Request {
			return judged.Patch(types.MergePatchType).AbsPath(kind.Collection(u.Namespace), "odd", subresource).Body([]byte(body))
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
			wants("CREATE", action, judged.Post().AbsPath(kind.Collection(u.Namespace), "odd", action).Body([]byte(body)))
		}
		wants("DELETE", "", judged.Delete().AbsPath(kind.Collection(u.Namespace), "odd"))
	}
}

// restClientOf returns a JSON client for paths of kube-apiserver that acts as the given user.
func restClientOf(t *testing.T, as rest.ImpersonationConfig) *rest.RESTClient {
	t.Helper()
	config := testenv.Of(t).RestConfig()
	config.Impersonate, config.QPS = as, -1
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1().RESTClient().(*rest.RESTClient)
}
