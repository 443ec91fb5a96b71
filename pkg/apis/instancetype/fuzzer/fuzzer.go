// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzzer fills objects of the instancetype.slipway.dev group at random
// for tests.
//
// Guarantee: filled objects come back equal after being written in a version
// and read again. The group has no defaults, so that nothing needs filling.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
)

// Funcs returns the functions that fill the types of the group which have
// defaults: none.
func Funcs(runtimeserializer.CodecFactory) []any {
	return nil
}
