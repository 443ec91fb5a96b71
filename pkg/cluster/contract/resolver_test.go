// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const group = "infrastructure.example.org"

// managementCluster responds to requests by path and counts them. For other paths it responds like kube-apiserver to
// unknown resources.
type managementCluster struct {
	mu        sync.Mutex
	documents map[string]any
	requested map[string]int
	down      bool
}

func (h *managementCluster) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requested[req.URL.Path]++
	document, ok := h.documents[req.URL.Path]
	switch {
	case h.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case !ok:
		http.NotFound(w, req)
	default:
		w.Header().Set("Content-Type", "application/json")
		if s, isStatus := document.(metav1.Status); isStatus {
			s.Kind, s.APIVersion = "Status", "v1"
			document = s
			w.WriteHeader(int(s.Code))
		}
		_ = json.NewEncoder(w).Encode(document)
	}
}

func (h *managementCluster) set(path string, document any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if document == nil {
		delete(h.documents, path)
		return
	}
	h.documents[path] = document
}

func (h *managementCluster) setDown(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

func (h *managementCluster) count(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requested[path]
}

// serve serves the group in versions, each with the kind ExampleMachine.
func (h *managementCluster) serve(preferred string, names ...string) {
	list := metav1.APIGroup{Name: group, PreferredVersion: metav1.GroupVersionForDiscovery{Version: preferred, GroupVersion: group + "/" + preferred}}
	for _, v := range names {
		list.Versions = append(list.Versions, metav1.GroupVersionForDiscovery{Version: v, GroupVersion: group + "/" + v})
		h.set("/apis/"+group+"/"+v, metav1.APIResourceList{GroupVersion: group + "/" + v, APIResources: []metav1.APIResource{
			{Name: "examplemachines/status", Kind: "ExampleMachine", Namespaced: true},
			{Name: "examplemachines", Kind: "ExampleMachine", Namespaced: true},
			{Name: "exampleidentities", Kind: "ExampleIdentity"},
		}})
	}
	h.set("/apis/"+group, list)
}

func (h *managementCluster) label(path, name string, labels map[string]string) {
	h.set(path+name, metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	})
}

const (
	definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	servicePath    = "/apis/apiregistration.k8s.io/v1/apiservices/"
	machinesCRD    = "examplemachines." + group
)

type clock struct{ now time.Time }

func newResolver(t *testing.T) (*managementCluster, *Resolver, *clock) {
	t.Helper()
	h := &managementCluster{documents: map[string]any{}, requested: map[string]int{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	own := dynamic.NewForConfigOrDie(&rest.Config{Host: "http://own.invalid"})
	return h, New(Options{
		OwnClient: own, ManagementClient: dynamic.NewForConfigOrDie(config), Now: func() time.Time { return c.now },
		Kinds: Kinds{Discovery: discovery.NewDiscoveryClientForConfigOrDie(config).RESTClient(), Metadata: metadata.NewForConfigOrDie(config)},
	}), c
}

// found contains the compared fields of a Kind.
type found struct {
	Resource, Version string
	Assumed           bool
}

func foundOf(k Kind) found {
	return found{k.GVR.Version + "/" + k.GVR.Resource, k.Version, k.Assumed}
}

func TestResolver_ChoosesTheVersionByLabels(t *testing.T) {
	tests := []struct {
		name     string
		crd, svc map[string]string // Labels of the CustomResourceDefinition and of the APIService of v1.
		want     found
	}{
		{name: "the newest contract, and the newest served version",
			crd:  map[string]string{labelPrefix + V1Beta2: "v1_v1beta7_v9", labelPrefix + V1Beta1: "v1beta7"},
			want: found{"v1/examplemachines", V1Beta2, false}},
		{name: "only the older contract", crd: map[string]string{labelPrefix + V1Beta1: "v1beta7"}, want: found{"v1beta7/examplemachines", V1Beta1, false}},
		{name: "the APIService's labels without a CustomResourceDefinition",
			svc: map[string]string{labelPrefix + V1Beta1: ""}, want: found{"v1/examplemachines", V1Beta1, false}},
		{name: "the APIService's labels if the CustomResourceDefinition has none",
			crd: map[string]string{"a": "b"}, svc: map[string]string{labelPrefix + V1Beta2: "v1"}, want: found{"v1/examplemachines", V1Beta2, false}},
		{name: "the preferred version without labels", want: found{"v1beta7/examplemachines", V1Beta2, true}},
		{name: "an APIService's label with another version is ignored",
			svc: map[string]string{labelPrefix + V1Beta2: "v3"}, want: found{"v1beta7/examplemachines", V1Beta2, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, r, _ := newResolver(t)
			h.serve("v1beta7", "v1beta7", "v1")
			if test.crd != nil {
				h.label(definitionPath, machinesCRD, test.crd)
			}
			if test.svc != nil {
				h.label(servicePath, "v1."+group, test.svc)
			}
			k, err := r.Resolve(t.Context(), group, "ExampleMachine")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, foundOf(k)); diff != "" {
				t.Errorf("kind (-want +got):\n%s", diff)
			}
			if !k.Namespaced || k.GVK.Kind != "ExampleMachine" || k.Client == nil {
				t.Errorf("kind %+v", k)
			}
		})
	}
}

func TestResolver_ResolvesOwnKindsWithoutARequest(t *testing.T) {
	h, r, _ := newResolver(t)
	k, err := r.Resolve(t.Context(), "vm.slipway.dev", "VirtualMachine")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found{"v1alpha1/virtualmachines", V1Beta2, false}, foundOf(k)); diff != "" {
		t.Errorf("kind (-want +got):\n%s", diff)
	}
	if k.Client != r.options.OwnClient || len(h.requested) != 0 {
		t.Errorf("requests %v, want none", h.requested)
	}
}

func TestResolver_ReturnsWhyAKindCannotBeUsed(t *testing.T) {
	tests := []struct {
		name, group, kind string
		prepare           func(*managementCluster)
		want              error
	}{
		{name: "no such group", group: "other.example.org", kind: "ExampleMachine", want: ErrKindUnknown},
		{name: "no such kind", group: group, kind: "OtherMachine", want: ErrKindUnknown},
		{name: "invalid group", group: "a/../b.c", kind: "ExampleMachine", want: ErrKindUnknown},
		{name: "invalid kind", group: group, kind: "a/b", want: ErrKindUnknown},
		{name: "a built-in kind", group: "rbac.authorization.k8s.io", kind: "Role", want: ErrContractUnknown},
		{name: "a built-in kind of a group without domain", group: "apps", kind: "Deployment", want: ErrContractUnknown},
		{name: "another kind of Slipway", group: "vm.slipway.dev", kind: "VirtualMachineSnapshot", want: ErrContractUnknown},
		{name: "a label without a served version", group: group, kind: "ExampleMachine", want: ErrContractUnknown,
			prepare: func(h *managementCluster) {
				h.label(definitionPath, machinesCRD, map[string]string{labelPrefix + V1Beta2: "v7"})
			}},
		{name: "CustomResourceDefinitions cannot be read", group: group, kind: "ExampleMachine", want: ErrUnreadable,
			prepare: func(h *managementCluster) {
				h.set(definitionPath+machinesCRD, metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden})
			}},
		{name: "APIServices cannot be read", group: group, kind: "ExampleMachine", want: ErrUnreadable,
			prepare: func(h *managementCluster) {
				h.set(servicePath+"v1."+group, metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden})
			}},
		{name: "a version is unavailable", group: group, kind: "ExampleMachine", want: ErrUnreadable,
			prepare: func(h *managementCluster) { h.set("/apis/"+group+"/v1", metav1.Status{Status: "Failure", Code: 503}) }},
		{name: "management cluster down", group: group, kind: "ExampleMachine", want: ErrUnreadable, prepare: func(h *managementCluster) { h.setDown(true) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, r, _ := newResolver(t)
			h.serve("v1", "v1")
			if test.prepare != nil {
				test.prepare(h)
			}
			_, err := r.Resolve(t.Context(), test.group, test.kind)
			for _, kind := range []error{ErrKindUnknown, ErrContractUnknown, ErrUnreadable} {
				if got := errors.Is(err, kind); got != errors.Is(test.want, kind) {
					t.Errorf("error %v; is %q: %t", err, kind, got)
				}
			}
		})
	}
}

func TestResolver_CachesAKindForAMinute(t *testing.T) {
	h, r, c := newResolver(t)
	h.serve("v1", "v1")
	path := "/apis/" + group
	ask := func() {
		t.Helper()
		if _, err := r.Resolve(t.Context(), group, "ExampleMachine"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		ask()
	}
	if h.count(path) != 1 {
		t.Fatalf("%d requests in a minute", h.count(path))
	}
	c.now = c.now.Add(cacheTTL)
	h.setDown(true)
	ask() // The cached kind stays valid.
	h.setDown(false)
	h.set("/apis/"+group, nil)
	c.now = c.now.Add(retryMax)
	if _, err := r.Resolve(t.Context(), group, "ExampleMachine"); !errors.Is(err, ErrKindUnknown) {
		t.Errorf("error %v for a removed kind", err)
	}
}

func TestResolver_RetriesUnknownKindsWithBackoff(t *testing.T) {
	h, r, c := newResolver(t)
	path := "/apis/" + group
	requested := 0
	for seconds := range 20 {
		if _, err := r.Resolve(t.Context(), group, "ExampleMachine"); !errors.Is(err, ErrKindUnknown) {
			t.Fatalf("error %v", err)
		}
		if want := []int{0, 1, 3, 7, 15}; h.count(path) > requested && seconds != want[requested] {
			t.Errorf("lookup %d after %d s, want %d s", requested+1, seconds, want[requested])
		}
		requested = h.count(path)
		c.now = c.now.Add(time.Second)
	}
	if requested != 5 {
		t.Errorf("%d lookups in 20 s", requested)
	}
	h.serve("v1", "v1")
	c.now = c.now.Add(retryMax)
	if _, err := r.Resolve(t.Context(), group, "ExampleMachine"); err != nil {
		t.Errorf("error %v for a new kind", err)
	}
}

func TestResolver_LimitsTheNumberOfCachedKinds(t *testing.T) {
	_, r, _ := newResolver(t)
	for i := range 2 * maxKinds {
		_, _ = r.Resolve(t.Context(), group, "Machine"+strings.Repeat("x", i%50)+string(rune('a'+i/50)))
	}
	if len(r.kinds) > maxKinds {
		t.Errorf("%d kinds are cached", len(r.kinds))
	}
}

func TestResolver_CachesNothingForACanceledContext(t *testing.T) {
	h, r, _ := newResolver(t)
	h.serve("v1", "v1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Resolve(ctx, group, "ExampleMachine"); !errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v", err)
	}
	if _, err := r.Resolve(t.Context(), group, "ExampleMachine"); err != nil {
		t.Errorf("error %v for the next caller", err)
	}
}

func TestResolver_DistinguishesUnknownKindsFromMissingObjects(t *testing.T) {
	h, r, _ := newResolver(t)
	h.serve("v1", "v1")
	ref := Reference{Group: group, Kind: "ExampleMachine", Name: "a"}
	path := "/apis/" + group + "/v1/namespaces/ns/examplemachines/a"

	h.set(path, metav1.Status{Status: "Failure", Code: 404, Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{Name: "a"}})
	if _, _, err := r.Get(t.Context(), ref, "ns"); !apierrors.IsNotFound(err) || !IsNotFound(err) || errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v for a missing object", err)
	}
	h.set(path, nil) // WithOwnClient after the removal of the CustomResourceDefinition.
	if _, _, err := r.Get(t.Context(), ref, "ns"); apierrors.IsNotFound(err) || !errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v for a kind that is no longer served", err)
	}
	h.set(path, metav1.Status{Status: "Failure", Code: 503})
	if _, _, err := r.Get(t.Context(), ref, "ns"); !errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v while the server is down", err)
	}
	h.set(path, map[string]any{"apiVersion": group + "/v1", "kind": "ExampleMachine", "metadata": map[string]any{"name": "a", "namespace": "ns"}})
	o, k, err := r.Get(t.Context(), ref, "ns")
	if err != nil || o.GetName() != "a" || k.GVR.Resource != "examplemachines" {
		t.Errorf("got %v of %v, error %v", o, k.GVR, err)
	}
}

func TestResolver_RejectsClusterScopedKinds(t *testing.T) {
	h, r, _ := newResolver(t)
	h.serve("v1", "v1")
	_, _, err := r.Get(t.Context(), Reference{Group: group, Kind: "ExampleIdentity", Name: "a"}, "ns")
	if !errors.Is(err, ErrContractUnknown) {
		t.Errorf("error %v", err)
	}
}
