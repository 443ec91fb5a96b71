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

// Lengths of the hash in a shortened name, in hexadecimal digits.
const (
	nameHashLength  = 16
	labelHashLength = 10
)

// RevisionName returns the name of o's revision: its name, API version, UID and generation. If the name is longer than
// 253 characters, the limit of Kubernetes, its end is replaced with a hash of the whole name.
func RevisionName(o *Object) string {
	full := strings.Join([]string{
		o.Meta.Name, objectVersion, string(o.Meta.UID), strconv.FormatInt(o.Meta.Generation, 10),
	}, "-")
	return shorten(full, validation.DNS1123SubdomainMaxLength, nameHashLength)
}

// labelValue returns value, shortened to the limit of a label value.
func labelValue(value string) string {
	return shorten(value, validation.LabelValueMaxLength, labelHashLength)
}

// shorten returns s if it has at most limit characters. Otherwise it replaces the end with digits of a hash.
func shorten(s string, limit, digits int) string {
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	// Names and label values must not have a dot or a dash directly before the dash.
	head := strings.TrimRight(s[:limit-digits-1], "-._")
	return head + "-" + hex.EncodeToString(sum[:])[:digits]
}
