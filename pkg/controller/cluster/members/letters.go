// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import "crypto/sha256"

// alphabet is that of Kubernetes' generated names: without vowels, so that no words come out,
// and without what looks alike.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

// Letters are n, at most 32, that follow from text and tell it from others, for names.
func Letters(text []byte, n int) string {
	sum := sha256.Sum256(text)
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}
