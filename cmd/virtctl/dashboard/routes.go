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

// apiPrefix is the path prefix of the proxy to the API server.
const apiPrefix = "/k8s"

// API groups that the page can access, by their paths.
var (
	vmPath   = "/apis/" + vmv1alpha1.GroupName + "/" + vmv1alpha1.SchemeGroupVersion.Version
	corePath = "/api/v1"
)

// scope is the scope of a resource.
type scope bool

const (
	inNamespaces scope = true
	inCluster    scope = false
)

// readable lists the resources that can be read, listed and watched.
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

// verbs are the subresources of a virtual machine that can be called.
var verbs = []string{"start", "stop", "restart", "suspend", "refresh-instancetype", "refresh-preference", "console"}

// Allowed query parameters.
var (
	readParameters = []string{"allowWatchBookmarks", "continue", "fieldSelector", "limit", "resourceVersion", "timeoutSeconds", "watch"}
	callParameters = []string{"dryRun"}
)

// maxQuery is the maximum length of a query, in bytes. Continue tokens have some hundred.
const maxQuery = 4096

// errNoRoute is returned for a request that the proxy does not forward.
var errNoRoute = errors.New("the dashboard does not forward this API request")

// route is a request to the API server.
type route struct {
	path  string
	query url.Values
	// calls is true for a subresource that changes something or creates a ticket.
	calls bool
}

// routeOf maps a request below apiPrefix to a request to the API server. Only known path segments are accepted, and
// only valid names are copied.
func routeOf(method string, u *url.URL) (route, error) {
	path, ok := strings.CutPrefix(u.Path, apiPrefix)
	// Non-canonical paths could have another meaning for the API server.
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

// isRead reports whether parts are the path of a readable list or object.
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
	case len(parts) == 1: // a list, possibly of all namespaces
		return true
	case len(parts) == 2:
		return isName(parts[1]) && namespaced == bool(where)
	}
	return false
}

// isCall reports whether parts are the path of an allowed subresource of a virtual machine.
func isCall(parts []string) bool {
	return len(parts) == 5 && parts[0] == "namespaces" && isName(parts[1]) && parts[2] == "virtualmachines" &&
		isName(parts[3]) && slices.Contains(verbs, parts[4])
}

// isName reports whether s is a valid name of a namespace or object.
func isName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }
