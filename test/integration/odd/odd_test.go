// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var long = flag.Bool("long", false, "try everything, not a part")

// part is how many of n things the short form takes, spread over all of them.
func chosen(n, of int) bool { return *long || n%of == 0 }

// Everything that is written is a dry run: what one request does has no effect on the
// next.
func strictly() url.Values { return url.Values{"dryRun": {"All"}, "fieldValidation": {"Strict"}} }

// make creates a valid object, if it is not there, and returns its version.
func (s *server) make(k kind, name string) string {
	s.t.Helper()
	s.ask(request{method: http.MethodPost, path: k.collection(), format: "application/json", body: k.object(name, "")})
	var stored metav1.PartialObjectMetadata
	a := s.ask(request{method: http.MethodGet, path: k.collection() + "/" + name})
	if err := json.Unmarshal(a.body, &stored); err != nil || a.code != http.StatusOK {
		s.t.Fatalf("making a %s: answer %d %.300s", k.name, a.code, a.body)
	}
	return stored.ResourceVersion
}

// ways are those in which something is written.
var ways = []string{
	http.MethodPost, http.MethodPut,
	"application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml",
}

// write writes value in one of the ways to a place of the object with a name and version.
func write(way string, k kind, name, version, place, value string) request {
	r := request{
		method: http.MethodPatch, path: k.collection() + "/" + name, format: way, query: strictly(),
		place: place, what: fmt.Sprintf("%.60s", value),
	}
	if strings.HasPrefix(place, ".status") {
		r.path += "/status"
	}
	switch way {
	case http.MethodPost:
		r.method, r.path, r.format, r.body = way, k.collection(), "application/json", with(k.object("new", ""), place, value)
	case http.MethodPut:
		r.method, r.format, r.body = way, "application/json", with(k.object(name, `,"resourceVersion":"`+version+`"`), place, value)
	case "application/json-patch+json":
		part := strings.FieldsFunc(place, func(r rune) bool { return strings.ContainsRune(".[]{}", r) })[0]
		var parts map[string]json.RawMessage
		_ = json.Unmarshal([]byte(with(k.object(name, ""), place, value)), &parts)
		r.body = with(`[{"op":"add","path":"/`+part+`"}]`, "[].value", string(parts[part]))
	case "application/apply-patch+yaml":
		r.body = with(k.object(name, ""), place, value)
		r.query.Set("fieldManager", "odd")
		r.query.Set("force", "true")
	default:
		r.body = with("{}", place, value)
	}
	return r
}

// TestS4S6OddValuesEverywhereAreAnsweredByNamingTheField tries a part of the values in the
// short form, others at each place and by each way of writing, and all with -long.
func TestS4S6OddValuesEverywhereAreAnsweredByNamingTheField(t *testing.T) {
	s := start(t)
	for _, k := range kinds {
		version := s.make(k, "odd")
		places := s.schemas(k.group).places(k.name)
		if len(places) < 20 {
			t.Errorf("%s has %d places in the schema", k.name, len(places))
		}
		t.Run(k.name, func(t *testing.T) {
			s := s.within(t)
			for i, place := range places {
				for j, value := range values {
					for w, way := range ways {
						if chosen(i+j+w*7, len(values)) {
							s.try(write(way, k, "odd", version, place, value))
						}
					}
				}
			}
			s.report()
		})
	}
}
