// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import "crypto/sha256"

// alphabet is the one of Kubernetes' generated names. It has no vowels, so that no words appear, and no characters that
// look alike.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

// HashString returns a hash of text with n characters, at most 32, for use in names.
func HashString(text []byte, n int) string {
	sum := sha256.Sum256(text)
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}
