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

	"github.com/slipway-dev/slipway/test/schema"
)

var verbs = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions, "ODD"}

// endpoints returns all paths of a kind, including that of a missing object and one that is not served.
func endpoints(k schema.Kind) []string {
	item := k.Collection(namespace) + "/" + k.Item()
	all := []string{k.Collection(namespace), item, item + "/status", k.Collection(namespace) + "/gone", item + "/scale"}
	for _, action := range slices.Sorted(maps.Keys(k.Actions)) {
		all = append(all, item+"/"+action)
	}
	for _, read := range k.Read {
		all = append(all, item+"/"+read)
	}
	return all
}

// TestOddBodies_OfActionsAreRejectedWithTheField tests the schemas of the bodies of actions and deletions.
func TestOddBodies_OfActionsAreRejectedWithTheField(t *testing.T) {
	s := start(t)
	for _, k := range schema.Kinds {
		s.make(k)
		all := s.schemas(k.Group)
		bodies := map[string]string{"": "DeleteOptions"}
		for action, options := range k.Actions {
			bodies["/"+action] = options
		}
		for path, options := range bodies {
			method, valid, group := http.MethodPost, `{"dryRun":["All"]}`, k.Group+"/v1alpha1"
			if path == "" {
				method, group = http.MethodDelete, "v1"
			}
			places := all.Places(options)
			if len(places) < 3 {
				t.Errorf("%s has %d places in the schema", options, len(places))
			}
			if !slices.ContainsFunc(places, func(p schema.Place) bool { return strings.HasPrefix(p.Path, ".dryRun") }) {
				valid = `{}` // The query has the value, too.
			}
			for i, place := range places {
				place := place.Path
				for j, value := range schema.Values {
					if !chosen(i+j, 4) {
						continue
					}
					if strings.HasPrefix(place, ".dryRun") {
						s.make(k) // the previous object may be deleted
					}
					body := schema.With(schema.With(schema.With(valid, ".kind", `"`+options+`"`), ".apiVersion", `"`+group+`"`), place, value)
					s.try(request{
						method: method, path: k.Collection(namespace) + "/" + k.Item() + path, format: "application/json", body: body, query: strictly(),
						place: place, what: fmt.Sprintf("%.60s", value),
					})
				}
			}
		}
	}
	s.report()
}

// TestOddParameters_AreRejectedCheaply tries every verb at every endpoint with odd
// parameters.
func TestOddParameters_AreRejectedCheaply(t *testing.T) {
	s := start(t)
	count := 0
	for _, k := range schema.Kinds {
		for _, path := range endpoints(k) {
			s.make(k) // the previous object may be deleted
			for _, verb := range verbs {
				for _, parameter := range parameters {
					for _, argument := range arguments {
						if count++; chosen(count, 73) {
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

// TestOddBodies_AreRejectedCheaply tries every verb at every endpoint with odd bodies in
// all formats.
func TestOddBodies_AreRejectedCheaply(t *testing.T) {
	s := start(t)
	count := 0
	for _, k := range schema.Kinds {
		for _, path := range endpoints(k) {
			s.make(k)
			for _, verb := range verbs {
				for _, format := range formats {
					for _, name := range slices.Sorted(maps.Keys(bodies)) {
						if count++; chosen(count, 37) {
							s.try(request{method: verb, path: path, format: format, body: bodies[name], what: name, query: url.Values{"dryRun": {"All"}}})
						}
					}
				}
			}
		}
	}
	s.report()
}
