// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/apis/vm/fuzzer"
)

func TestScheme_RoundTripsEveryKind(t *testing.T) {
	roundtrip.RoundTripProtobufTestForAPIGroup(t, scheme.Install, fuzzer.Funcs)
}
