// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const vms = "/k8s/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines"

// asked is what a page may ask of the dashboard, and what it may not.
var asked = []struct {
	method, target string
	path           string // at the API server; empty for what is not passed on
}{
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/virtualmachines?limit=500&continue=abc", "/apis/vm.slipway.dev/v1alpha1/virtualmachines"},
	{"GET", vms + "?watch=1&resourceVersion=7&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dweb", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines"},
	{"GET", vms + "/web.1", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web.1"},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/zones", "/apis/vm.slipway.dev/v1alpha1/zones"},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/zones/default", "/apis/vm.slipway.dev/v1alpha1/zones/default"},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/queues", "/apis/vm.slipway.dev/v1alpha1/queues"},
	{"GET", "/k8s/api/v1/namespaces/dev/events", "/api/v1/namespaces/dev/events"},
	{"POST", vms + "/web/start", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/start"},
	{"POST", vms + "/web/refresh-instancetype?dryRun=All", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/refresh-instancetype"},
	{"POST", vms + "/web/console", "/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/console"},

	// Other resources, groups and endpoints.
	{"GET", "/k8s/api/v1/namespaces/dev/secrets", ""},
	{"GET", "/k8s/api/v1/namespaces/dev/secrets/x", ""},
	{"GET", "/k8s/api/v1/nodes/n/proxy/metrics", ""},
	{"GET", "/k8s/apis/apps/v1/deployments", ""},
	{"GET", "/k8s/version", ""},
	{"GET", "/k8s/", ""},
	{"GET", "/k8s", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/orphans", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1beta1/virtualmachines", ""},
	{"GET", vms + "/web/screenshot", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/virtualmachines/web", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/namespaces/dev/zones", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/namespaces/dev", ""},
	{"GET", vms + "/web/console", ""},
	{"POST", vms + "/web/console/ticket", ""},
	{"POST", vms + "/web/expand-spec", ""},
	{"POST", vms + "/web/status", ""},
	{"POST", vms + "/web", ""},
	{"POST", vms, ""},
	{"POST", "/k8s/api/v1/namespaces/dev/virtualmachines/web/start", ""},
	{"POST", "/k8s/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachinegroups/web/start", ""},

	// Other methods.
	{"PUT", vms + "/web", ""},
	{"PATCH", vms + "/web", ""},
	{"DELETE", vms + "/web", ""},
	{"DELETE", vms, ""},
	{"HEAD", vms + "/web", ""},
	{"OPTIONS", vms + "/web", ""},
	{"GET", vms + "/web/start", ""},

	// Paths that mean something else than they say.
	{"GET", vms + "/../../../../../api/v1/secrets", ""},
	{"GET", vms + "/..", ""},
	{"GET", vms + "/.", ""},
	{"GET", vms + "/%2e%2e", ""},
	{"GET", vms + "/%77eb", ""},
	{"GET", vms + "/a%2Fb", ""},
	{"GET", vms + "/web%2Fscreenshot", ""},
	{"GET", vms + "//web", ""},
	{"GET", vms + "/", ""},
	{"GET", "/k8s//apis/vm.slipway.dev/v1alpha1/virtualmachines", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/namespaces/d%20v/virtualmachines", ""},
	{"GET", "/k8s/apis/vm.slipway.dev/v1alpha1/namespaces/../virtualmachines", ""},
	{"GET", vms + "/" + strings.Repeat("a", 254), ""},
	{"GET", vms + "/WEB", ""},

	// Parameters.
	{"GET", vms + "?pretty=1", ""},
	{"GET", vms + "?labelSelector=a", ""},
	{"GET", vms + "?watch=1&watch=0", ""},
	{"GET", vms + "?a=%zz", ""},
	{"GET", vms + "?limit=1;watch=1", ""},
	{"GET", vms + "?continue=" + strings.Repeat("a", maxQuery), ""},
	{"POST", vms + "/web/start?fieldManager=me", ""},
	{"POST", vms + "/web/start?watch=1", ""},
}

func TestRoutes_AllowOnlyListedRequests(t *testing.T) {
	for _, tc := range asked {
		u, err := url.ParseRequestURI(tc.target)
		if err != nil {
			t.Fatal(err)
		}
		got, err := routeOf(tc.method, u)
		if (err == nil) != (tc.path != "") || got.path != tc.path {
			t.Errorf("%s %s goes to %q (%v), want %q", tc.method, tc.target, got.path, err, tc.path)
		}
		if err == nil && got.query.Encode() != u.Query().Encode() {
			t.Errorf("%s %s asks with %v", tc.method, tc.target, got.query)
		}
		if err == nil && got.calls != (tc.method == http.MethodPost) {
			t.Errorf("%s %s: calls is %t", tc.method, tc.target, got.calls)
		}
	}
}
