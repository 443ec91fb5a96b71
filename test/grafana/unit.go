// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package grafana

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scale is a unit from a value on.
type scale struct {
	from, divisor float64
	suffix        string
}

// scales are those of the units of Grafana that are used, the largest first.
var scales = map[string][]scale{
	"short":       {{1e9, 1e9, " Bil"}, {1e6, 1e6, " Mil"}, {1e3, 1e3, " K"}, {0, 1, ""}},
	"ops":         {{1e6, 1e6, "M ops/s"}, {1e3, 1e3, "K ops/s"}, {0, 1, " ops/s"}},
	"reqps":       {{1e6, 1e6, "M req/s"}, {1e3, 1e3, "K req/s"}, {0, 1, " req/s"}},
	"eps":         {{1e6, 1e6, "M evt/s"}, {1e3, 1e3, "K evt/s"}, {0, 1, " evt/s"}},
	"percentunit": {{0, 0.01, "%"}},
	"hertz":       {{1e9, 1e9, " GHz"}, {1e6, 1e6, " MHz"}, {1e3, 1e3, " kHz"}, {0, 1, " Hz"}},
	"bytes":       {{1 << 40, 1 << 40, " TiB"}, {1 << 30, 1 << 30, " GiB"}, {1 << 20, 1 << 20, " MiB"}, {1 << 10, 1 << 10, " KiB"}, {0, 1, " B"}},
	"s":           {{86400, 86400, " days"}, {3600, 3600, " hours"}, {60, 60, " mins"}, {1, 1, " s"}, {1e-3, 1e-3, " ms"}, {0, 1e-6, " µs"}},
}

// Format is a value in a unit of Grafana, with three digits or all before the point.
func Format(value float64, unit string) (string, error) {
	all, ok := scales[unit]
	if !ok {
		return "", fmt.Errorf("the unit %q is not one that is drawn", unit)
	}
	if value == 0 {
		if unit == "s" {
			return "0 s", nil
		}
		return "0" + all[len(all)-1].suffix, nil
	}
	for _, s := range all {
		if math.Abs(value) >= s.from {
			return digits(value/s.divisor) + s.suffix, nil
		}
	}
	return "", fmt.Errorf("%v is no number to draw", value)
}

// digits is a number with three digits, or with all before the point.
func digits(v float64) string {
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	text := strconv.FormatFloat(v, 'f', max(0, decimals), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
