// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vmrecord encodes the object of a virtual machine as text that is stored in the virtual machine itself, and
// decodes it.
//
// The package guarantees:
//
//  1. The same object has the same text, so a different text means a change.
//  2. A text has at most MaxEncoded characters of the base64 alphabet. A longer text is an error; it is never truncated.
//  3. Decoding uses at most MaxDecoded bytes for any input. A text that this package has not written is an error.
//  4. A record does not include status, managed fields, or kubectl's last applied configuration. It has only the names of
//     Secrets.
package vmrecord
