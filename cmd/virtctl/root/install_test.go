// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

// installHost is a fake cluster that stores applied objects as they are, without a schema.
type installHost struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	// order are the paths in the order in which objects came.
	order    []string
	versions int
	// conflict is the path of an object that another client has changed.
	conflict string
	// unavailable holds the messages of successive reads in which the APIServices are not available.
	unavailable []string
	// early is the number of requests that fail although the APIServices are available.
	early int
	// replicas is the status of the StatefulSet's replicas in successive reads before the rollout is complete.
	replicas []map[string]any
}

func (h *installHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason string) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"it is so"}`, reason, code)
	}
	was, there := h.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		var is map[string]any
		if err := json.Unmarshal(body, &is); err != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" {
			fail(http.StatusBadRequest, "BadRequest")
			return
		}
		if r.URL.Path == h.conflict && r.URL.Query().Get("force") != "true" {
			fail(http.StatusConflict, "Conflict")
			return
		}
		if !there {
			h.order = append(h.order, r.URL.Path)
		}
		if !there || was["applied"] != string(body) {
			h.versions++
			is["applied"] = string(body)
			is["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(h.versions)
			h.objects[r.URL.Path] = is
		}
	case strings.HasSuffix(r.URL.Path, "/pods"):
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","items":[]}`)
		return
	case strings.HasSuffix(r.URL.Path, ".slipway.dev/v1alpha1"):
		if h.early > 0 {
			h.early--
			fail(http.StatusServiceUnavailable, "ServiceUnavailable")
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[]}`, strings.TrimPrefix(r.URL.Path, "/apis/"))
		return
	case !there:
		fail(http.StatusNotFound, "NotFound")
		return
	}
	_ = json.NewEncoder(w).Encode(h.answer(r.Method, r.URL.Path))
}

// answer is an object with its status.
func (h *installHost) answer(method, path string) map[string]any {
	object := map[string]any{}
	for key, value := range h.objects[path] {
		object[key] = value
	}
	condition := map[string]any{"type": "Ready", "status": "True"}
	if strings.Contains(path, "/apiservices/") {
		condition = map[string]any{"type": "Available", "status": "True"}
		if len(h.unavailable) > 0 && method == http.MethodGet {
			condition["status"], condition["reason"], condition["message"] = "False", "MissingEndpoints", h.unavailable[0]
			h.unavailable = h.unavailable[1:]
		}
	}
	object["status"] = map[string]any{"conditions": []any{condition}}
	if strings.Contains(path, "/statefulsets/") {
		object["status"] = map[string]any{"updatedReplicas": 3, "readyReplicas": 3}
		if len(h.replicas) > 0 && method == http.MethodGet {
			object["status"] = h.replicas[0]
			h.replicas = h.replicas[1:]
		}
	}
	return object
}

func newInstallHost() *installHost { return &installHost{objects: map[string]map[string]any{}} }

const imageFlag = "--image=registry.example.com/s:v1"

// install runs virtctl install with arguments.
func (h *installHost) install(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, "virtctl", "secret\n", h, append([]string{"install"}, args...)...)
}

func TestInstall_PrintsManifestsWithoutApply(t *testing.T) {
	h := newInstallHost()
	code, out, errOut := h.install(t, imageFlag)
	if code != 0 || len(h.order) > 0 {
		t.Fatalf("exit %d, %d objects applied: %s", code, len(h.order), errOut)
	}
	printed, err := artifacts.Decode([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := deployment.Objects(deployment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(printed) != len(all) || !strings.Contains(out, "image: registry.example.com/s:v1\n") || !strings.Contains(out, "replicas: 1\n") {
		t.Errorf("%d objects are printed, want %d with the image and one replica", len(printed), len(all))
	}
	if code, _, errOut = h.install(t, "--apply", imageFlag); code != 0 {
		t.Fatal(errOut)
	}
	if len(h.order) != len(all) {
		t.Errorf("%d objects are applied, and %d printed", len(h.order), len(all))
	}
}

func TestInstall_IsIdempotent(t *testing.T) {
	h := newInstallHost()
	_, first, _ := h.install(t, "--apply", imageFlag)
	_, second, _ := h.install(t, "--apply", imageFlag)
	code, third, errOut := h.install(t, "--apply", "--image=registry.example.com/s:v2")
	if code != 0 {
		t.Fatal(errOut)
	}
	want := strings.Count(first, "\n")
	if n := strings.Count(first, " created\n"); n != want || n == 0 {
		t.Errorf("the first run:\n%s", first)
	}
	if n := strings.Count(second, " unchanged\n"); n != want {
		t.Errorf("the second run:\n%s", second)
	}
	if strings.Count(third, " unchanged\n") != want-1 || !strings.Contains(third, "statefulset/slipway-apiserver configured\n") {
		t.Errorf("with another image:\n%s", third)
	}
}

const vcenterPath = "/apis/vm.slipway.dev/v1alpha1/vcenters/default"

func TestInstall_ReportsProgressAndThenAppliesTheVCenter(t *testing.T) {
	h := newInstallHost()
	h.unavailable, h.early = []string{"no endpoints", "no endpoints", "still none"}, 2
	code, out, errOut := h.install(t, "--apply", imageFlag, "--wait", "--vcenter-url=vc.example.com", "--vcenter-username=slipway", "--vcenter-password-file=-", "--vcenter-thumbprint="+strings.Repeat("ab", 32))
	if code != 0 {
		t.Fatal(errOut)
	}
	want := "waiting for the API: v1alpha1.vm.slipway.dev: MissingEndpoints: no endpoints\nwaiting for the API: v1alpha1.vm.slipway.dev: MissingEndpoints: still none\n" +
		"waiting for the API: v1alpha1.vm.slipway.dev: it is so\n"
	if errOut != want {
		t.Errorf("it says\n%s, want\n%s", errOut, want)
	}
	if last := h.order[len(h.order)-1]; last != vcenterPath || !strings.Contains(out, "vcenter/default ready\n") {
		t.Errorf("the last object is %s:\n%s", last, out)
	}
	var object struct{ Spec struct{ URL string } }
	if err := yaml.Unmarshal([]byte(h.objects[vcenterPath]["applied"].(string)), &object); err != nil {
		t.Fatal(err)
	}
	if object.Spec.URL != "https://vc.example.com/sdk" {
		t.Errorf("the URL is %q", object.Spec.URL)
	}
	if data := h.objects["/api/v1/namespaces/slipway-system/secrets/vcenter-credentials"]["data"].(map[string]any); data["password"] != "c2VjcmV0" {
		t.Errorf("the Secret has %v, want the password without its end of line", data)
	}
}

// The previous server continues to serve for a while, so an available API does not show that the update is complete.
func TestInstall_WaitsUntilAllReplicasAreUpdated(t *testing.T) {
	h := newInstallHost()
	if code, _, errOut := h.install(t, "--apply", imageFlag); code != 0 {
		t.Fatal(errOut)
	}
	before := map[string]any{"updatedReplicas": 0, "readyReplicas": 1}
	// It is read twice before apply: for the settings to keep, and to detect changes.
	h.replicas = []map[string]any{before, before, before, {"updatedReplicas": 1, "readyReplicas": 0}}
	code, out, errOut := h.install(t, "--apply", "--wait", "--image=registry.example.com/s:v2")
	if code != 0 || !strings.HasSuffix(out, "statefulset/slipway-apiserver ready\n") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
	if want := "waiting for the server: 0 of 1 replicas are updated\nwaiting for the server: 0 of 1 replicas are ready\n"; !strings.HasSuffix(errOut, want) {
		t.Errorf("it says\n%s, want\n%s", errOut, want)
	}
	h.replicas = slices.Repeat([]map[string]any{before}, 1000)
	code, _, errOut = h.install(t, "--apply", "--wait", "--image=registry.example.com/none:v3", "--timeout=50ms")
	if code != 3 || !strings.Contains(errOut, "not all replicas are updated and ready (--timeout 50ms): waiting for the server: 0 of 1 replicas are updated") {
		t.Errorf("exit %d with an image that is not there: %s", code, errOut)
	}
}

func TestInstall_FailsIfTheAPIIsNotAvailableInTime(t *testing.T) {
	h := newInstallHost()
	h.unavailable = slices.Repeat([]string{"no endpoints"}, 1000)
	code, _, errOut := h.install(t, "--apply", imageFlag, "--wait", "--timeout=50ms")
	if code != 3 || !strings.Contains(errOut, "the API is not available (--timeout 50ms): waiting for the API: v1alpha1.vm.slipway.dev: MissingEndpoints: no endpoints") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}

func TestInstall_ForceConflictsTakesOwnershipOfFields(t *testing.T) {
	h := newInstallHost()
	h.conflict = "/apis/apps/v1/namespaces/slipway-system/statefulsets/slipway-apiserver"
	if code, _, errOut := h.install(t, "--apply", imageFlag); code != 1 || !strings.Contains(errOut, "applying statefulset/slipway-apiserver") || !strings.Contains(errOut, "--force-conflicts") {
		t.Errorf("exit %d: %s", code, errOut)
	}
	if code, _, errOut := h.install(t, "--apply", imageFlag, "--force-conflicts"); code != 0 {
		t.Error(errOut)
	}
}

func TestInstall_RejectsInvalidFlagsBeforeItApplies(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--replicas 2: more than 1 requires --etcd-servers", []string{"--replicas=2"}},
		{"--wait requires --apply", []string{"--wait"}},
		{"--force-conflicts requires --apply", []string{"--force-conflicts"}},
		{"--timeout 0s: must be more than 0s", []string{"--timeout=0s"}},
		{`--namespace "prod": the server can only be installed into slipway-system`, []string{"-n", "prod"}},
		{"reading --etcd-cafile: open /none", []string{"--etcd-servers=https://a:2379", "--etcd-cafile=/none"}},
		{"must not be empty", []string{"--etcd-servers=https://a:2379", "--etcd-cafile=" + empty}},
		{"require --vcenter-url", []string{"--vcenter-username=u"}},
		{"--vcenter-insecure is not supported: the server always verifies", []string{"--vcenter-url=vc", "--vcenter-username=u", "--vcenter-password-file=-", "--vcenter-insecure"}},
	} {
		h := newInstallHost()
		args := c.args
		if !slices.Contains(args, "--wait") && !slices.Contains(args, "--force-conflicts") {
			args = append(args, "--apply")
		}
		if code, out, errOut := h.install(t, args...); code != 1 || !strings.Contains(errOut, c.want) || out != "" || len(h.order) > 0 {
			t.Errorf("%v: exit %d, %d objects applied: %s, want %q", c.args, code, len(h.order), errOut, c.want)
		}
	}
}
