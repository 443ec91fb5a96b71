// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/schema"
)

func TestSubjects_CoverEveryKindAndSubresource(t *testing.T) {
	s := start(t)
	tried := map[string][]string{}
	for _, k := range schema.Kinds {
		all := []string{k.Resource}
		if k.Status {
			all = append(all, k.Resource+"/status")
		}
		for _, sub := range append(slices.Collect(maps.Keys(k.Actions)), k.Read...) {
			all = append(all, k.Resource+"/"+sub)
		}
		tried[k.Base()] = append(tried[k.Base()], all...)
	}
	for base, tried := range tried {
		var served metav1.APIResourceList
		if err := json.Unmarshal(s.ask(request{method: http.MethodGet, path: base}).body, &served); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range served.APIResources {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		slices.Sort(tried)
		if diff := cmp.Diff(names, tried); diff != "" {
			t.Errorf("%s: served kinds and schema.Kinds (-served +listed):\n%s", base, diff)
		}
	}
}
