// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
)

func TestCompileGuestInfo_MatchesEntireValues(t *testing.T) {
	for _, test := range []struct {
		expression, value string
		want              bool
	}{
		{"ready", "ready", true},
		{"ready", "not ready", false},
		{"a|b", "a", true},
		{"a|b", "ab", false},
		{"(?i)READY", "ready", true},
		{"(?m)^a$", "b\na", false},
		{`\p{L}+`, "größe", true},
		{".*", "two\nlines", false},
		{"(?s).*", "two\nlines", true},
	} {
		compiled, err := CompileGuestInfo(test.expression)
		if err != nil {
			t.Errorf("%q: %v", test.expression, err)
			continue
		}
		if got := compiled.MatchString(test.value); got != test.want {
			t.Errorf("%q matches %q: %t, want %t", test.expression, test.value, got, test.want)
		}
	}
}

func TestCompileGuestInfo_RejectsComplexExpressions(t *testing.T) {
	for _, test := range []struct{ name, expression, want string }{
		{"the longest allowed", strings.Repeat("a", 255), ""},
		{"the most repetitions allowed", "a{1000}", ""},
		{"repeated repetitions", "(?:(?:ab){30}){30}", "at most 1024 steps"},
		{"long and repeated", "(" + strings.Repeat("ab", 100) + "){100}", "at most 1024 steps"},
		{"many alternatives of repetitions", "a{900}|b{900}", "at most 1024 steps"},
		{"a malformed expression", "(", "must be a regular expression"},
		{"a backreference", `(a)\1`, "must be a regular expression"},
		{"an unbalanced parenthesis", "a)|(b", "must be a regular expression"},
	} {
		_, err := CompileGuestInfo(test.expression)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: rejected: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
