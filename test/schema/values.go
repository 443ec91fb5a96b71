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
