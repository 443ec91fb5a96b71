// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"fmt"
	"strings"
)

// parameters are the parameters that some request accepts.
var parameters = []string{
	"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds", "timeout",
	"watch", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation", "force", "pretty",
	"propagationPolicy", "gracePeriodSeconds", "orphanDependents", "ignoreStoreReadErrorWithClusterBreakingPotential",
	"includeObject", "generation", "mode", "unknown",
}

// arguments are values for parameters. They include no large number: as a resourceVersion it makes the server wait
// for that version and answer 504 after three seconds, as the API conventions require.
var arguments = []string{
	"", "x", "-1", "0", "1.5", "true", "null", "*", "a(b", "[", "=", "!", "a in (", "a=b,,c", "a\x00b", "\x1b[31m", "\u202ex", "\xff", "99999999999999999999x",
	strings.Repeat("x", 5_000), strings.Repeat("a=b,", 2_000) + "a=b", "a in (" + strings.Repeat("b,", 2_000) + "b)",
}

// bodies are tried with every verb, in every format.
var bodies = map[string]string{
	"empty":     "",
	"null":      "null",
	"list":      "[]",
	"text":      `"x"`,
	"cut off":   `{"kind":`,
	"no UTF-8":  "\xff\xfe\x00",
	"nested":    strings.Repeat(`{"a":`, 100_000),
	"lists":     strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000),
	"kind only": `{"kind":"VirtualMachine","apiVersion":"vm.slipway.dev/v1alpha1"}`,
	"a Pod":     `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"odd"}}`,
	"no kind":   `{"metadata":{"name":"odd"}}`,
	"patch":     `[{"op":"replace","path":"/spec/x/y/z","value":1}]`,
	"copies":    `[` + strings.TrimSuffix(strings.Repeat(`{"op":"copy","from":"/spec","path":"/spec/a"},`, 200), ",") + `]`,
	"many ops":  `[` + strings.TrimSuffix(strings.Repeat(`{"op":"test","path":"/spec","value":1},`, 11_000), ",") + `]`,
	"aliases":   "a: &a [x,x,x,x,x,x,x,x,x]\n" + aliases("abcdefghi"),
	"protobuf":  "k8s\x00\x0a\xff\xff\xff\xff\x0f",
	"large":     strings.Repeat(" ", 2<<20) + "{}",
}

// aliases are lines of YAML, each of which expands to nine times the previous one.
func aliases(names string) string {
	var out strings.Builder
	for i := 1; i < len(names); i++ {
		fmt.Fprintf(&out, "%c: &%c [%s]\n", names[i], names[i], strings.TrimSuffix(strings.Repeat("*"+names[i-1:i]+",", 9), ","))
	}
	return out.String()
}

// formats are the content types of bodies.
var formats = []string{
	"", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor", "text/plain",
	"application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml", "application/apply-patch+cbor",
}
