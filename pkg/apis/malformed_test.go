// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/apis/malformed"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestFind_ReportsInvalidValues(t *testing.T) {
	for document, want := range map[string]string{
		`{"spec":{"memory":{"guest":"1 Gi"}}}`:                                          `spec.memory.guest: Invalid value: "1 Gi": quantities must match`,
		"spec:\n  volumes:\n  - name: a\n  - name: b\n    disk: {size: 10GB}\n":         `spec.volumes[1].disk.size: Invalid value: "10GB": quantities must match`,
		`{"metadata":{"creationTimestamp":"yesterday"}}`:                                `metadata.creationTimestamp: Invalid value: "yesterday": parsing time`,
		`{"spec":{"memory":{"guest":"` + strings.Repeat("x", 5000) + `"}}}`:             `(5000 bytes): quantities must match`,
		`{"metadata":{"creationTimestamp":"` + strings.Repeat("x", 5000) + `"}}`:        `(5000 bytes): is not a valid time`,
		`{"spec":{"memory":{"guest":{"a":1}}}}`:                                         `spec.memory.guest: Invalid value: "{\"a\":1}"`,
		`{"spec":{"memory":{"guest":1073741824},"cpu":{"sockets":2}},"unknown":"1 Gi"}`: "",
		`{"spec":{"cpu":{"sockets":"two"}}}`:                                            `spec.cpu.sockets: Invalid value: "two": must be a number`,
		`{"spec":{"cpu":{"sockets":1.5}}}`:                                              `spec.cpu.sockets: Invalid value: "1.5": must be a whole number of 32 bits`,
		`{"spec":{"cpu":{"sockets":2147483648}}}`:                                       `spec.cpu.sockets: Invalid value: "2147483648": must be a whole number`,
		`{"spec":["a"]}`:                     `spec: Invalid value: "[\"a\"]": must be an object`,
		`{"metadata":{"finalizers":[1]}}`:    `metadata.finalizers[0]: Invalid value: "1": must be a string`,
		`{"metadata":{"finalizers":[null]}}`: `metadata.finalizers[0]: Invalid value: "null": must be a string`,
		`{"spec":{"volumes":{}}}`:            `spec.volumes: Invalid value: "{}": must be a list`,
		`{"metadata":null}`:                  "",
		`{"spec":{"memory":{"guest":null}}}`: "",
		`{`:                                  "",
	} {
		got := findAll(document, &vmv1alpha1.VirtualMachine{})
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%.80s: found %q, want %q", document, got, want)
		}
	}
}

// findAll returns the errors of Find as one string.
func findAll(document string, into any) string {
	errs, _ := malformed.Find([]byte(document), into)
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func TestFind_ReturnsEveryInvalidValueAndTheRest(t *testing.T) {
	for name, tc := range map[string]struct {
		document string
		want     []string
		rest     string
	}{
		"several fields": {
			`{"spec":{"memory":"4GB","image":"photon-5","cpus":2,"cpu":{"sockets":"two","cores":1}}}`,
			[]string{
				`spec.image: Invalid value: "photon-5": must be an object with the fields: kind, name`,
				`spec.cpu.sockets: Invalid value: "two": must be a number`,
				`spec.memory: Invalid value: "4GB": must be an object with the fields: guest, `,
			},
			`{"spec":{"cpu":{"cores":1},"cpus":2}}`,
		},
		"YAML": {
			"spec:\n  memory: {guest: 4 GB}\n  powerState: [on]\n",
			[]string{`spec.memory.guest: Invalid value: "4 GB": quantities must match`, `spec.powerState: Invalid value: "[true]": must be a string`},
			`{"spec":{"memory":{}}}`,
		},
		"in entries of a list": {
			`{"spec":{"volumes":[{"name":1,"x":1},{"name":"b","disk":{"size":"10GB"}}]}}`,
			[]string{`spec.volumes[0].name: Invalid value: "1": must be a string`, `spec.volumes[1].disk.size: Invalid value: "10GB": quantities`},
			`{"spec":{"volumes":[{"x":1},{"disk":{},"name":"b"}]}}`,
		},
		"an entry of a list": {
			`{"metadata":{"finalizers":["a",1,2]},"spec":{}}`,
			[]string{`metadata.finalizers[1]: Invalid value: "1": must be a string`, `metadata.finalizers[2]: Invalid value: "2": must be a string`},
			`{"metadata":{},"spec":{}}`,
		},
		"an entry of a map": {`{"metadata":{"labels":{"a":1,"b":"2"}}}`, []string{`metadata.labels[a]: Invalid value: "1": must be a string`}, `{"metadata":{"labels":{"b":"2"}}}`},
		"the whole":         {`["a"]`, []string{`must be an object with the fields: kind, apiVersion, metadata, spec, status`}, ""},
		"nothing":           {`{"spec":{"colour":"blue"}}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := findAll(tc.document, &vmv1alpha1.VirtualMachine{})
			_, rest := malformed.Find([]byte(tc.document), &vmv1alpha1.VirtualMachine{})
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("found %q, want %q in it", got, want)
				}
			}
			if len(tc.want) == 0 && got != "" {
				t.Errorf("found %q, want nothing", got)
			}
			if string(rest) != tc.rest {
				t.Errorf("rest is %s, want %s", rest, tc.rest)
			}
		})
	}
	if errs, _ := malformed.Find([]byte(`{"metadata":{"finalizers":[`+strings.Repeat("1,", 5000)+`1]}}`), &vmv1alpha1.VirtualMachine{}); len(errs) != 16 {
		t.Errorf("%d errors, want 16", len(errs))
	}
}

func TestFind_ReportsInvalidValuesOfVCenter(t *testing.T) {
	for document, want := range map[string]string{
		`{"spec":{"caBundle":"not base64"}}`:             `spec.caBundle: Invalid value: "not base64": must be base64`,
		`{"spec":{"caBundle":1}}`:                        `spec.caBundle: Invalid value: "1": must be a string`,
		`{"spec":{"caBundle":"YQ=="}}`:                   "",
		`{"spec":{"caBundle":null}}`:                     "",
		`{"status":{"inventory":{"readDuration":null}}}`: `status.inventory.readDuration: Invalid value: "null": `,
		`{"status":{"inventory":null}}`:                  "",
	} {
		got := findAll(document, &vmv1alpha1.VCenter{})
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", document, got, want)
		}
	}
}

func TestBounded_ReportsExpensivePatches(t *testing.T) {
	for patch, want := range map[string]string{
		`{"spec":{"guestID":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`:              "spec.guestID[0][0]",
		`{"status":{"conditions":[` + strings.Repeat("{},", 1024) + `{}]}}`:                             "status.conditions: Too many: 1025",
		`{"spec":` + strings.Repeat(`{"a":`, 30) + `1` + strings.Repeat("}", 31):                        "",
		`{"spec":{"volumes":[` + strings.Repeat("{},", 1023) + `{}],"guestID":"[[[[[[[[[[[[[[[[[[[["}}`: "",
		`{`: "",
	} {
		got := ""
		if err := malformed.FindExpensivePatch([]byte(patch)); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%.80s: found %q, want %q", patch, got, want)
		}
	}
}

func TestCounts_ReportsListWithTooManyEntries(t *testing.T) {
	many := strings.Repeat("{},", malformed.MaxEntries) + "{}"
	for name, tc := range map[string]struct{ document, want string }{
		"few":                       {`{"a":[1,2,{"b":"c"}],"d":"[,{"}`, ""},
		"as many as allowed":        {`{"a":[` + strings.Repeat("1,", malformed.MaxEntries-1) + `1]}`, ""},
		"a list in an object":       {`{"metadata":{"name":"x","ownerReferences":[` + many + `]}}`, "metadata.ownerReferences: the lists"},
		"a list in a list":          {`{"spec":{"disks":[{"name":"a"},{"name":"b","ids":[` + many + `]}]}}`, "spec.disks[1].ids: the lists"},
		"a key with an escape":      {`{"s\u0070ec":{"x":"\"","y":[` + many + `]}}`, "spec.y: the lists"},
		"lists in lists":            {`{"spec":{"guestID":` + strings.Repeat("[", malformed.MaxEntries+2) + strings.Repeat("]", malformed.MaxEntries+2) + `}}`, "spec.guestID[0][0]"},
		"the document itself":       {`[` + many + `]`, "the lists"},
		"many fields":               {`{"metadata":{"labels":{"a":"b"` + strings.Repeat(`,"a":"b"`, 64<<10) + `}}}`, "metadata.labels: an object must have"},
		"YAML with too many lines":  {strings.Repeat("a:\n", 32<<10+1), "a YAML document must have"},
		"a key after a closed list": {`{"a":[1],"b":{"c":[` + many + `]}}`, "b.c: the lists"},
	} {
		t.Run(name, func(t *testing.T) {
			err := malformed.CheckEntryCount([]byte(tc.document))
			if (err != nil) != (tc.want != "") || err != nil && (!strings.HasPrefix(err.Error(), tc.want) || len(err.Error()) > 500) {
				t.Errorf("Counts = %v, want %q", err, tc.want)
			}
		})
	}
}
