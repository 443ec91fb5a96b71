// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// protectedWord is what a protected prefix ends in.
const protectedWord = "protected"

// ProtectedKey tells whether only privileged users may set, change or remove an annotation or a
// label of this key, on whatever object: its prefix, the part before the slash, is protected or
// ends in .protected.
func ProtectedKey(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	prefix = strings.ToLower(prefix)
	return prefix == protectedWord || strings.HasSuffix(prefix, "."+protectedWord)
}

// PrivilegedKey tells whether only privileged users may set, change or remove an annotation or a
// label of this key on a VM that is there: beside the protected ones those that hold an operation.
func PrivilegedKey(key string) bool {
	return ProtectedKey(key) || strings.HasPrefix(key, CheckDeletePrefix) || strings.HasPrefix(key, CheckPowerOnPrefix)
}
