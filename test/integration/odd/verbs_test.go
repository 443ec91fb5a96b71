// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

var verbs = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, "ODD"}

// endpoints are all paths of a kind, one of an object that does not exist and one that is
// not served among them.
func (k kind) endpoints() []string {
	item := k.collection() + "/odd"
	all := []string{k.collection(), item, item + "/status", k.collection() + "/gone", item + "/scale"}
	for _, action := range slices.Sorted(maps.Keys(k.actions)) {
		all = append(all, item+"/"+action)
	}
	for _, read := range k.read {
		all = append(all, item+"/"+read)
	}
	return all
}

// TestS4OddBodiesOfActionsAreAnsweredByNamingTheField tries the schema of what actions
// and deletions take.
func TestS4OddBodiesOfActionsAreAnsweredByNamingTheField(t *testing.T) {
	s := start(t)
	for _, k := range kinds {
		s.make(k, "odd")
		all := s.schemas(k.group)
		bodies := map[string]string{"": "DeleteOptions"}
		for action, options := range k.actions {
			bodies["/"+action] = options
		}
		for path, options := range bodies {
			method, valid, group := http.MethodPost, `{"dryRun":["All"]}`, k.group+"/v1alpha1"
			if path == "" {
				method, group = http.MethodDelete, "v1"
			}
			places := all.places(options)
			if len(places) < 3 {
				t.Errorf("%s has %d places in the schema", options, len(places))
			}
			for i, place := range places {
				for j, value := range values {
					if !chosen(i+j, 4) {
						continue
					}
					if strings.HasPrefix(place, ".dryRun") {
						s.make(k, "odd") // the one before may be deleted
					}
					body := with(with(with(valid, ".kind", `"`+options+`"`), ".apiVersion", `"`+group+`"`), place, value)
					s.try(request{
						method: method, path: k.collection() + "/odd" + path, format: "application/json", body: body, query: strictly(),
						place: place, what: fmt.Sprintf("%.60s", value),
					})
				}
			}
		}
	}
	s.report()
}

// TestS4OddParametersAreRefusedAtNoCost tries every verb at every endpoint with odd
// parameters.
func TestS4OddParametersAreRefusedAtNoCost(t *testing.T) {
	s := start(t)
	for i, k := range kinds {
		for j, path := range k.endpoints() {
			s.make(k, "odd") // the last one may be deleted
			for n, verb := range verbs {
				for m, parameter := range parameters {
					for o, argument := range arguments {
						if chosen(i+j+n+m+o, 3*len(arguments)) {
							s.try(parameterized(verb, path, parameter, argument))
						}
					}
				}
			}
		}
	}
	s.report()
}

// parameterized is a request with one odd parameter that changes nothing.
func parameterized(verb, path, parameter, argument string) request {
	r := request{method: verb, path: path, query: url.Values{parameter: {argument}}, format: "application/json", what: parameter}
	switch verb {
	case http.MethodPost, http.MethodPut, http.MethodDelete:
		r.body = `{}`
	case http.MethodPatch:
		r.body, r.format = `{}`, "application/merge-patch+json"
	}
	if parameter != "dryRun" && parameter != "watch" && verb != http.MethodGet {
		r.query.Set("dryRun", "All")
	}
	return r
}

// TestS4OddBodiesAreRefusedAtNoCost tries every verb at every endpoint with odd bodies in
// all formats.
func TestS4OddBodiesAreRefusedAtNoCost(t *testing.T) {
	s := start(t)
	for i, k := range kinds {
		for j, path := range k.endpoints() {
			s.make(k, "odd")
			for n, verb := range verbs {
				for m, format := range formats {
					for o, name := range slices.Sorted(maps.Keys(bodies)) {
						if chosen(i+j+n+m+o, 2*len(bodies)) {
							s.try(request{method: verb, path: path, format: format, body: bodies[name], what: name, query: url.Values{"dryRun": {"All"}}})
						}
					}
				}
			}
		}
	}
	s.report()
}
