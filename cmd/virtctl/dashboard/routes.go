// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slipway-dev/slipway/pkg/apis/vm/queues"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// apiPrefix is where the API server is, for the page.
const apiPrefix = "/k8s"

// Groups that can be reached, by the paths of their versions.
var (
	vmPath   = "/apis/" + vmv1alpha1.GroupName + "/" + vmv1alpha1.SchemeGroupVersion.Version
	corePath = "/api/v1"
)

// scope says where objects of a resource are.
type scope bool

const (
	inNamespaces scope = true
	inCluster    scope = false
)

// readable is what can be read, listed and watched.
var readable = map[string]map[string]scope{
	vmPath: {
		"virtualmachines":             inNamespaces,
		"virtualmachineinstances":     inNamespaces,
		"virtualmachineimages":        inNamespaces,
		"virtualmachineimagecaches":   inNamespaces,
		"clustervirtualmachineimages": inCluster,
		"contentlibraries":            inCluster,
		"vcenters":                    inCluster,
		"zones":                       inCluster,
		queues.Resource:               inCluster,
	},
	corePath: {"events": inNamespaces},
}

// verbs are the endpoints of a virtual machine that can be called.
var verbs = []string{"start", "stop", "restart", "suspend", "refresh-instancetype", "refresh-preference", "console"}

// What requests can ask with.
var (
	readParameters = []string{"allowWatchBookmarks", "continue", "fieldSelector", "limit", "resourceVersion", "timeoutSeconds", "watch"}
	callParameters = []string{"dryRun"}
)

// maxQuery is the longest query, in bytes: continue tokens are some hundred.
const maxQuery = 4096

// errNoRoute says that nothing is served there.
var errNoRoute = errors.New("the dashboard has no use for this request of the API, and does not pass it on")

// route is a request to the API server.
type route struct {
	path  string
	query url.Values
	// calls is true for an endpoint that changes something, or makes a ticket.
	calls bool
}

// routeOf is what a request of the page, below apiPrefix, is to the API server. It decides by
// parts that it knows, and of what is not known it passes names alone.
func routeOf(method string, u *url.URL) (route, error) {
	path, ok := strings.CutPrefix(u.Path, apiPrefix)
	// What is written in another way than it is meant may mean something else behind.
	if !ok || u.EscapedPath() != u.Path || u.RawQuery != "" && u.ForceQuery || len(u.RawQuery) > maxQuery {
		return route{}, errNoRoute
	}
	base, resources := vmPath, readable[vmPath]
	rest, ok := strings.CutPrefix(path, base+"/")
	if !ok {
		base, resources = corePath, readable[corePath]
		if rest, ok = strings.CutPrefix(path, base+"/"); !ok {
			return route{}, errNoRoute
		}
	}
	parts := strings.Split(rest, "/")
	out := route{path: path}
	allowed := readParameters
	switch method {
	case http.MethodGet:
		if !isRead(resources, parts) {
			return route{}, errNoRoute
		}
	case http.MethodPost:
		if base != vmPath || !isCall(parts) {
			return route{}, errNoRoute
		}
		out.calls, allowed = true, callParameters
	default:
		return route{}, errNoRoute
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return route{}, errNoRoute
	}
	for name, values := range query {
		if !slices.Contains(allowed, name) || len(values) != 1 {
			return route{}, errNoRoute
		}
	}
	out.query = query
	return out, nil
}

// isRead tells whether parts name a list or an object that can be read.
func isRead(resources map[string]scope, parts []string) bool {
	namespaced := len(parts) > 2 && parts[0] == "namespaces"
	if namespaced {
		if !isName(parts[1]) {
			return false
		}
		parts = parts[2:]
	}
	where, known := resources[parts[0]]
	switch {
	case !known, namespaced && where == inCluster:
		return false
	case len(parts) == 1: // a list, of all namespaces perhaps
		return true
	case len(parts) == 2:
		return isName(parts[1]) && namespaced == bool(where)
	}
	return false
}

// isCall tells whether parts name an endpoint of a virtual machine that can be called.
func isCall(parts []string) bool {
	return len(parts) == 5 && parts[0] == "namespaces" && isName(parts[1]) && parts[2] == "virtualmachines" &&
		isName(parts[3]) && slices.Contains(verbs, parts[4])
}

// isName tells whether s can be the name of a namespace or of an object of ours.
func isName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }
