// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// protectedWord is the last label of a protected prefix.
const protectedWord = "protected"

// IsProtectedKey reports whether only privileged users can set, change or remove an annotation or label with this key, on
// any object. This is the case if the prefix, which is the part before the slash, is "protected" or ends in
// ".protected".
func IsProtectedKey(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	prefix = strings.ToLower(prefix)
	return prefix == protectedWord || strings.HasSuffix(prefix, "."+protectedWord)
}

// IsPrivilegedKey reports whether only privileged users can set, change or remove an annotation or label with this key on
// an existing VM. In addition to protected keys, these are the keys of checks that block an operation.
func IsPrivilegedKey(key string) bool {
	return IsProtectedKey(key) || strings.HasPrefix(key, CheckDeletePrefix) || strings.HasPrefix(key, CheckPowerOnPrefix)
}
