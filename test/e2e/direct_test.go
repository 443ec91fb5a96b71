// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/testenv"
)

// Requests that do not pass kube-apiserver.
func TestDirectRequests_AreAuthorizedByTheManagementCluster(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.part("authenticated", func(t *testing.T, _ user) {
		anonymous, err := testenv.Of(t).DirectConfig("")
		if err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			header http.Header
			code   int
			says   string
		}{
			"no credentials": {nil, http.StatusForbidden, "system:anonymous"},
			"bogus token":    {http.Header{"Authorization": {"Bearer bogus"}}, http.StatusUnauthorized, "Unauthorized"},
			"forged front proxy headers": {http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}},
				http.StatusForbidden, "system:anonymous"},
		} {
			t.Run(name, func(t *testing.T) {
				code, body := direct(t, anonymous, tc.header)
				if code != tc.code || !strings.Contains(body, tc.says) {
					t.Errorf("answer %d %s, want %d with %q", code, body, tc.code, tc.says)
				}
			})
		}
		t.Run("an ordinary user's certificate with forged headers", func(t *testing.T) {
			mallory, err := testenv.Of(t).DirectConfig("mallory")
			if err != nil {
				t.Fatal(err)
			}
			code, body := direct(t, mallory, http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}})
			if code != http.StatusForbidden || !strings.Contains(body, "mallory") {
				t.Errorf("answer %d %s, want 403 for mallory", code, body)
			}
		})
	})
	u.part("pages about all namespaces", func(t *testing.T, _ user) {
		for _, path := range []string{"/debug/queue", "/metrics"} {
			for _, name := range []string{"", "mallory"} {
				config, err := testenv.Of(t).DirectConfig(name)
				if err != nil {
					t.Fatal(err)
				}
				if code, body := directAt(t, config, path, nil); code != http.StatusForbidden || strings.Contains(body, "priority") {
					t.Errorf("%s for user %q: answer %d %s, want 403", path, name, code, body)
				}
			}
		}
	})
	u.part("served by its FlowSchemas", func(t *testing.T, u user) { u.flows(t) })
	u.part("audited", func(t *testing.T, u user) { u.audited(t) })
}

// Permissions of a user who may get all VMs are not queried for each VM. A user who may get one VM cannot get others.
// The test is not parallel, because the requests of other tests would be counted.
func TestDirectRequests_QueryPermissionsOnManyObjectsOnce(t *testing.T) {
	u := admin(t)
	const names = 300
	config := func(name string) *rest.Config {
		c, err := testenv.Of(t).DirectConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	olga, peter := config("olga"), config("peter")
	masters, err := testenv.Of(t).DirectConfig("counter", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	at := func(c *rest.Config, name string) int {
		code, _ := directAt(t, c, "/apis/vm.slipway.dev/v1alpha1/namespaces/"+u.Namespace+"/virtualmachines/"+name, nil)
		return code
	}
	// A user with permission to read an object that does not exist gets NotFound.
	answers := func(c *rest.Config, name string, code int) {
		t.Helper()
		testenv.Eventually(t, testenv.Short, fmt.Sprintf("the answer about %s is %d", name, code), func() error {
			if got := at(c, name); got != code {
				return fmt.Errorf("the answer is %d", got)
			}
			return nil
		})
	}
	u.Allow("olga", "all", "{apiGroups: [vm.slipway.dev], resources: [virtualmachines], verbs: [get]}")
	u.Allow("peter", "one", "{apiGroups: [vm.slipway.dev], resources: [virtualmachines], resourceNames: [vm-1], verbs: [get]}")
	answers(olga, "vm-0", http.StatusNotFound)
	answers(peter, "vm-1", http.StatusNotFound)
	answers(peter, "vm-2", http.StatusForbidden)

	before := reviews(t, masters)
	for i := range names {
		if code := at(olga, fmt.Sprintf("vm-%d", i)); code != http.StatusNotFound {
			t.Fatalf("the answer about vm-%d is %d, want 404", i, code)
		}
	}
	// A cache entry for each name would make the cache unbounded. Entries expire after ten seconds.
	if made := reviews(t, masters) - before; before == 0 || made > names/2 {
		t.Errorf("%d names took %d SubjectAccessReviews, after %d before", names, made, before)
	}
	u.Delete("rolebinding/olga-all")
	answers(olga, "vm-0", http.StatusForbidden)
}

// reviews is the number of SubjectAccessReviews that the server has made.
func reviews(t *testing.T, config *rest.Config) (n int) {
	t.Helper()
	_, body := directAt(t, config, "/metrics", nil)
	for _, found := range regexp.MustCompile(`(?m)^apiserver_delegated_authz_request_total\{.*\} (\d+)$`).FindAllStringSubmatch(body, -1) {
		made, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		n += made
	}
	return n
}

// direct lists VMs with requests to slipway-apiserver.
func direct(t *testing.T, config *rest.Config, header http.Header) (code int, body string) {
	t.Helper()
	return directAt(t, config, "/apis/vm.slipway.dev/v1alpha1/virtualmachines", header)
}

func directAt(t *testing.T, config *rest.Config, path string, header http.Header) (code int, body string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// flow is a FlowSchema for the requests of one user to vm.slipway.dev.
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

func (u user) flows(t *testing.T) {
	u.RemoveAtEnd("flowschema/" + u.Namespace)
	u.Put(fmt.Sprintf(flow, u.Namespace))
	u.Grant(u.Namespace, "slipway-view")
	wanted := map[string]string{
		"X-Kubernetes-Pf-Flowschema-Uid":    u.Get("flowschema/"+u.Namespace, ".metadata.uid"),
		"X-Kubernetes-Pf-Prioritylevel-Uid": u.Get("prioritylevelconfiguration/workload-low", ".metadata.uid"),
	}
	config, err := testenv.Of(t).DirectConfig(u.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, testenv.Long, "the FlowSchema is known", func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/apis/vm.slipway.dev/v1alpha1/namespaces/"+u.Namespace+"/virtualmachines", nil)
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
				return fmt.Errorf("%d with %s %q, want %q", answer.StatusCode, header, got, want)
			}
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	})
}

func auditLog(t *testing.T) (events []auditv1.Event, text string) {
	t.Helper()
	data, err := os.ReadFile(testenv.AuditLog(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for _, line := range lines[:len(lines)-1] { // the last line may be incomplete
		var event auditv1.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events = append(events, event)
	}
	return events, string(data)
}

// audited tests the example of a policy. Its log records the user of each change and no secrets.
func (u user) audited(t *testing.T) {
	jane := "jane-" + u.Namespace
	for _, role := range []string{"slipway-edit", "slipway-view"} {
		u.Grant(jane, role)
	}
	config, err := testenv.Of(t).UserConfig(jane)
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	vms, secret := client.VmV1alpha1().VirtualMachines(u.Namespace), "in-"+u.Namespace
	testenv.Eventually(t, testenv.Short, "the permissions are effective", func() error {
		_, err := vms.List(t.Context(), metav1.ListOptions{})
		return err
	})
	vm := oneVCPU("web")
	vm.Annotations = map[string]string{"example.com/a": secret}
	bad := oneVCPU("bad")
	bad.Spec.CPU.Sockets = -1
	_, badly := vms.Create(t.Context(), bad, metav1.CreateOptions{})
	_, created := vms.Create(t.Context(), vm, metav1.CreateOptions{})
	_, stopped := vms.Stop(t.Context(), "web", nil, metav1.CreateOptions{})
	_, read := vms.Get(t.Context(), "web", metav1.GetOptions{}) // not audited
	_, expanded := vms.ExpandSpec(t.Context(), "web", vmv1alpha1.ExpandOptions{})
	_, refused := client.VmV1alpha1().VCenters().Create(t.Context(), &vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{})
	deleted := vms.Delete(t.Context(), "web", metav1.DeleteOptions{})
	if err := errors.Join(created, stopped, read, expanded, deleted); err != nil || badly == nil || refused == nil {
		t.Fatalf("%v; a VM with -1 sockets: %v; a VCenter of an ordinary user: %v", err, badly, refused)
	}

	want := []string{
		"create vm.slipway.dev virtualmachines bad: 422",
		"create vm.slipway.dev virtualmachines web: 201",
		"create vm.slipway.dev virtualmachines/stop web: 201",
		"get vm.slipway.dev virtualmachines/expand-spec web: 200",
		"delete vm.slipway.dev virtualmachines web: 200",
	}
	testenv.Eventually(t, testenv.Short, "the log has the event", func() error {
		events, text := auditLog(t)
		if strings.Contains(text, `"`+secret+`"`) {
			t.Fatal("the log contains the content of an object")
		}
		var got []string
		for _, event := range events {
			if event.User.Username == "system:apiserver" {
				t.Fatalf("the log records a request of the controllers: %+v", event)
			}
			if o := event.ObjectRef; event.User.Username == jane && o != nil {
				got = append(got, fmt.Sprintf("%s %s %s %s: %d", event.Verb, o.APIGroup, strings.Trim(o.Resource+"/"+o.Subresource, "/"), o.Name, event.ResponseStatus.Code))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	// A request that the management cluster refuses by RBAC is recorded only in the log of the management cluster.
	events, _ := auditLog(t)
	if slices.ContainsFunc(events, func(e auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Resource == "vcenters" && e.User.Username == jane
	}) {
		t.Error("the server received a request that kube-apiserver rejects")
	}
}

// oneVCPU is a powered-off VM.
func oneVCPU(name string) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}, PowerState: vmv1alpha1.PoweredOff,
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
		},
	}
}
