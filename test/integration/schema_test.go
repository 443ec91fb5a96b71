// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/integration/framework"
)

var long = flag.Bool("long", false, "try every value at every place of the schema")

// oddValues are tried at every leaf, list and map of the schema, as JSON.
var oddValues = []string{
	`null`, `true`, `"x"`, `""`, `{}`, `[]`, `[null]`, `{"a":{}}`, `[[1]]`,
	`0`, `-1`, `1.5`, `2147483648`, `-2147483649`, `9223372036854775807`, `18446744073709551616`, `1e400`,
	`"1e99"`, `"-1Gi"`, `"1 Gi"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-23:59"`, `"*"`, `"../.."`, `"a(b"`,
	`"a\u0000"`, `"\u001b]0;x\u0007"`, `"\ud800"`, `"\u202ex"`, `"\u009b"`, `"\r\n"`,
	`"` + strings.Repeat("x", 2000) + `"`, `"` + strings.Repeat("a{999}", 40) + `"`, `"` + strings.Repeat("9", 100_000) + `"`,
	`[` + strings.Repeat(`{},`, 9_999) + `{}]`, `[` + strings.Repeat(`"x",`, 9_999) + `"x"]`, `{` + manyKeys(5_000) + `}`,
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":"v"`, i)
	}
	return strings.Join(keys, ",")
}

// schema is what is looked at of one in OpenAPI v3.
type schema struct {
	Ref        string `json:"$ref"`
	AllOf      []*schema
	Items      *schema
	Properties map[string]*schema
	// Additional is a schema, or true.
	Additional json.RawMessage `json:"additionalProperties"`
}

// places calls visit with every leaf, list and map at and below s; wrap makes a spec
// with a value at that place.
func places(all map[string]*schema, s *schema, path string, wrap func(string) string, visit func(path string, wrap func(string) string)) {
	for len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
	if s.Ref != "" {
		s = all[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if path != "" {
		visit(path, wrap)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		places(all, s.Properties[name], path+"."+name, func(v string) string { return wrap(fmt.Sprintf(`{%q:%s}`, name, v)) }, visit)
	}
	if s.Items != nil {
		places(all, s.Items, path+"[]", func(v string) string { return wrap("[" + v + "]") }, visit)
	}
	if len(s.Additional) > 0 {
		visit(path+"{}", func(v string) string { return wrap(`{"k":` + v + `}`) })
	}
}

// TestOddValuesEverywhereAreAnsweredByNamingTheField tries a part of the values in the
// short form, another one at each place, and all of them with -long.
func TestOddValuesEverywhereAreAnsweredByNamingTheField(t *testing.T) {
	client := restClient(t, framework.StartStandalone(t).Config())
	tried, codes, start := 0, map[int]int{}, processorTime(t)
	for group, kinds := range map[string]map[string]string{
		"vm.slipway.dev": {
			"VirtualMachine":         "namespaces/" + namespace + "/virtualmachines",
			"VirtualMachineClass":    "namespaces/" + namespace + "/virtualmachineclasses",
			"VirtualMachineImage":    "namespaces/" + namespace + "/virtualmachineimages",
			"VirtualMachineInstance": "namespaces/" + namespace + "/virtualmachineinstances",
		},
		"instancetype.slipway.dev": {
			"VirtualMachineInstancetype":        "namespaces/" + namespace + "/virtualmachineinstancetypes",
			"VirtualMachineClusterInstancetype": "virtualmachineclusterinstancetypes",
			"VirtualMachinePreference":          "namespaces/" + namespace + "/virtualmachinepreferences",
			"VirtualMachineClusterPreference":   "virtualmachineclusterpreferences",
		},
	} {
		base := "/apis/" + group + "/v1alpha1"
		var document struct {
			Components struct{ Schemas map[string]*schema }
		}
		raw, err := client.Get().AbsPath("/openapi/v3" + base).DoRaw(t.Context())
		if err == nil {
			err = json.Unmarshal(raw, &document)
		}
		if err != nil {
			t.Fatal(err)
		}
		for kind, resource := range kinds {
			all := document.Components.Schemas
			for name, s := range all {
				if !strings.HasSuffix(name, "."+kind) {
					continue
				}
				n := 0
				places(all, s.Properties["spec"], "", func(v string) string { return v }, func(path string, wrap func(string) string) {
					n++
					for j, value := range oddValues {
						if *long || (j+n)%len(oddValues) < 2 {
							tried++
							body := fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":%q,"metadata":{"name":"odd"},"spec":%s}`, group, kind, wrap(value))
							codes[tryOdd(t, client, base+"/"+resource, kind+" spec"+path, value, body)]++
						}
					}
				})
				if n < 4 {
					t.Errorf("%s has %d places in the schema", kind, n)
				}
			}
		}
	}
	t.Logf("%d requests, answers by code %v, %s of processor time each", tried, codes, (processorTime(t)-start)/time.Duration(tried))
}

// tryOdd posts one body as a dry run and returns the code of the answer.
func tryOdd(t *testing.T, client *rest.RESTClient, path, place, value, body string) int {
	t.Helper()
	var code int
	raw, _ := client.Post().AbsPath(path).Param("dryRun", "All").Param("fieldValidation", "Strict").
		SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(t.Context()).StatusCode(&code).Raw()
	if code >= 200 && code < 300 {
		return code
	}
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		t.Errorf("%s as %.60s: answer %d is no object: %v", place, value, code, err)
		return code
	}
	switch {
	case code >= 500, code == 0:
		t.Errorf("%s as %.60s: answer %d: %.300s", place, value, code, raw)
	case code == http.StatusUnprocessableEntity:
		if status.Details == nil || len(status.Details.Causes) == 0 || len(status.Details.Causes) > 64 {
			t.Errorf("%s as %.60s: refused without causes, or with too many: %.300s", place, value, raw)
			return code
		}
		for _, cause := range status.Details.Causes {
			if cause.Field == "" || cause.Field == "<nil>" {
				t.Errorf("%s as %.60s: no field named in %q", place, value, cause.Message)
			}
		}
	}
	// The value is in the message and in its cause.
	if len(raw) > 64<<10+2*len(body) {
		t.Errorf("%s as %.60s: the answer %d has %d bytes", place, value, code, len(raw))
	}
	return code
}

// processorTime is that of this process, of which the server is a part.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
