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

	"github.com/slipway-dev/slipway/test/schema"
)

// namespace is that of all objects.
const namespace = "default"

var long = flag.Bool("long", false, "try everything, not a part")

// chosen selects one of this many numbered cases in short mode. With nested loops the number should be prime, so that
// the selection is spread over all loops.
func chosen(n, of int) bool { return *long || n%of == 0 }

// Every write is a dry run, so requests do not affect each other.
func strictly() url.Values { return url.Values{"dryRun": {"All"}, "fieldValidation": {"Strict"}} }

// make creates a valid object, if it is not there, and returns its version.
func (s *server) make(k schema.Kind) string {
	s.t.Helper()
	name := k.Item()
	s.ask(request{method: http.MethodPost, path: k.Collection(namespace), format: "application/json", body: k.Object(name, "")})
	var stored metav1.PartialObjectMetadata
	a := s.ask(request{method: http.MethodGet, path: k.Collection(namespace) + "/" + name})
	if err := json.Unmarshal(a.body, &stored); err != nil || a.code != http.StatusOK {
		s.t.Fatalf("making a %s: answer %d %.300s", k.Name, a.code, a.body)
	}
	return stored.ResourceVersion
}

// ways are the ways of writing a value.
var ways = []string{
	http.MethodPost, http.MethodPut,
	"application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml",
}

// write writes value to a field of the item, in one of the ways. The item has the given resource version.
func write(way string, k schema.Kind, version, place, value string) request {
	name := k.Item()
	r := request{
		method: http.MethodPatch, path: k.Collection(namespace) + "/" + name, format: way, query: strictly(),
		place: place, what: fmt.Sprintf("%.60s", value),
	}
	if strings.HasPrefix(place, ".status") {
		r.path += "/status"
	}
	switch way {
	case http.MethodPost:
		r.method, r.path, r.format, r.body = way, k.Collection(namespace), "application/json", schema.With(k.Object("new", ""), place, value)
	case http.MethodPut:
		r.method, r.format, r.body = way, "application/json", schema.With(k.Object(name, `,"resourceVersion":"`+version+`"`), place, value)
	case "application/json-patch+json":
		part := strings.FieldsFunc(place, func(r rune) bool { return strings.ContainsRune(".[]{}", r) })[0]
		var parts map[string]json.RawMessage
		_ = json.Unmarshal([]byte(schema.With(k.Object(name, ""), place, value)), &parts)
		r.body = schema.With(`[{"op":"add","path":"/`+part+`"}]`, "[].value", string(parts[part]))
	case "application/apply-patch+yaml":
		r.body = schema.With(k.Object(name, ""), place, value)
		r.query.Set("fieldManager", "odd")
		r.query.Set("force", "true")
	default:
		r.body = schema.With("{}", place, value)
	}
	return r
}

// TestOddValues_AreRejectedWithTheField tries two values for each field in short mode. Different fields get different
// values and verbs. With -long it tries all values.
func TestOddValues_AreRejectedWithTheField(t *testing.T) {
	s := start(t)
	for _, k := range schema.Kinds {
		version := s.make(k)
		places := s.schemas(k.Group).Places(k.Name)
		if len(places) < 20 {
			t.Errorf("%s has %d places in the schema", k.Name, len(places))
		}
		t.Run(k.Name, func(t *testing.T) {
			s := s.within(t)
			for i, place := range places {
				for j, value := range schema.Values {
					for w, way := range ways {
						if chosen(i+j+w*7, 3*len(schema.Values)) {
							s.try(write(way, k, version, place.Path, value))
						}
					}
				}
			}
			s.report()
		})
	}
}
