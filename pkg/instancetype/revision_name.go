// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Lengths of the hash that makes a shortened name unique, in hexadecimal digits.
const (
	nameHashLength  = 16
	labelHashLength = 10
)

// RevisionName is the name of the revision that captures o: its name, API version, UID
// and generation. A name beyond the 253 characters that Kubernetes allows keeps its
// beginning and gets a hash of the whole instead of its end.
func RevisionName(o *Object) string {
	full := strings.Join([]string{
		o.Meta.Name, objectVersion, string(o.Meta.UID), strconv.FormatInt(o.Meta.Generation, 10),
	}, "-")
	return shorten(full, validation.DNS1123SubdomainMaxLength, nameHashLength)
}

// labelValue is value if it fits a label, else its beginning and a hash.
func labelValue(value string) string {
	return shorten(value, validation.LabelValueMaxLength, labelHashLength)
}

// shorten returns s if it has at most limit characters, else its beginning and
// digits of its hash.
func shorten(s string, limit, digits int) string {
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	// Neither a name nor a label may have a dot or dash before the dash.
	head := strings.TrimRight(s[:limit-digits-1], "-._")
	return head + "-" + hex.EncodeToString(sum[:])[:digits]
}
