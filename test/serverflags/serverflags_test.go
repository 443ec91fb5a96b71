// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package serverflags

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocument_IsGenerated(t *testing.T) {
	is, err := os.ReadFile("../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Document(), string(is)); diff != "" {
		t.Errorf("docs/reference/flags.md is not what make generate (go run ./hack/reference-table docs/reference/flags.md) writes (-want +got):\n%s", diff)
	}
}
