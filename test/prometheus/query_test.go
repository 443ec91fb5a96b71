// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"encoding/json"
	"math"
	"testing"
)

func TestSamplesAreReadAsPrometheusWritesThem(t *testing.T) {
	t.Parallel()
	var got []sample
	if err := json.Unmarshal([]byte(`[[1700000000.5, "1.25"], [1700000001, "NaN"], [1700000002, "+Inf"]]`), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0] != (sample{1700000000.5, 1.25}) || !math.IsNaN(got[1].Value) || !math.IsInf(got[2].Value, 1) {
		t.Errorf("read %v", got)
	}
	if err := json.Unmarshal([]byte(`[[1, "many"]]`), &got); err == nil {
		t.Error("a value that is no number is read")
	}
}
