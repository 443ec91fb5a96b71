// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
)

// Values are tried at every leaf, list and map of the schema, as JSON.
var Values = []string{
	`null`, `true`, `"x"`, `""`, `{}`, `[]`, `[null]`, `{"a":{}}`, `[[1]]`,
	`0`, `-1`, `1.5`, `2147483648`, `-2147483649`, `9223372036854775807`, `18446744073709551616`, `1e400`,
	`"1e99"`, `"1e999999999"`, `"-1Gi"`, `"1 Gi"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-23:59"`, `"*"`, `"../.."`, `"a(b"`,
	`"a\u0000"`, `"\u001b]0;x\u0007"`, `"\ud800"`, `"\u202ex"`, `"\u009b"`, `"\r\n"`,
	`{"$patch":"delete"}`, `[{"$patch":"replace"}]`, `[{"name":"a"},{"name":"a"}]`,
	`"` + strings.Repeat("x", 2000) + `"`, `"` + strings.Repeat("a{999}", 40) + `"`, `"` + strings.Repeat("9", 100_000) + `"`,
	`[` + strings.Repeat(`{},`, 9_999) + `{}]`, `[` + strings.Repeat(`"x",`, 9_999) + `"x"]`, `{` + manyKeys(5_000) + `}`,
	strings.Repeat(`[`, 5_000) + strings.Repeat(`]`, 5_000),
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":"v"`, i)
	}
	return strings.Join(keys, ",")
}

// Plausible are odd values that are valid for some fields. More of them are accepted than of Values.
var Plausible = []string{
	`false`, `1`, `2`, `3`, `13`, `22`, `1000`, `65535`, `2147483647`,
	`"1"`, `"1k"`, `"1Mi"`, `"4Mi"`, `"1028Mi"`, `"1.5Gi"`, `"3Gi"`, `"1Ti"`, `"100M"`, `"0"`, `"5"`,
	`"é"`, `"e\u0301"`, `"日本語"`, `"🙂"`, `" x "`, `"x y"`, `"x/y"`, `"x%2fy"`, `"/DC0/network/VM Network"`, `"VM Network"`,
	`"<&>\"']]>"`, `"${x}"`, `"{{.x}}"`, `"%s%n"`, `"a\tb\nc"`, `"-x"`, `"x."`, `"a.b"`, `"A"`, `"UPPER lower"`, `"` + strings.Repeat("é", 100) + `"`,
	`"` + strings.Repeat("x", 15) + `"`, `"` + strings.Repeat("x", 63) + `"`, `"` + strings.Repeat("x", 80) + `"`, `"` + strings.Repeat("x", 255) + `"`,
	`"now"`, `"2000-01-01T00:00:00Z"`, `"2026-02-28T23:59:59.123456789Z"`, `"9999-12-31T23:59:59Z"`,
	`"10.0.0.5/24"`, `"10.0.0.5"`, `"0.0.0.0"`, `"::1"`, `"::ffff:10.0.0.5"`, `"fd00::5/64"`, `"None"`, `"00:50:56:00:00:01"`, `"00:50:56:3F:FF:FF"`, `"02:00:00:00:00:01"`,
	`"00000000-0000-4000-8000-000000000001"`, `"10de:1eb8"`, `"UTC"`, `"Europe/Berlin"`, `"otherGuest64"`, `"item"`, `"missing"`, `"2020-01-01T00:00:00Z"`,
	`["x"]`, `["x","x"]`, `["10.0.0.5/24","10.0.0.6/24"]`, `["8.8.8.8"]`, `{"x":"y"}`, `{"X y":"\n"}`,
	`[{"name":"a"}]`, `[{"name":"a"},{"name":"b"}]`, `{"name":"missing"}`, `{"name":"data","key":"empty"}`, `{"name":"data","key":"missing"}`,
}
