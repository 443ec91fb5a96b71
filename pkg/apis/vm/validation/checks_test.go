// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestValidateChecks_LimitsNumberAndLength(t *testing.T) {
	many := func(prefix string, n int, value string) map[string]string {
		all := map[string]string{"unrelated": strings.Repeat("a", 1000)}
		for i := range n {
			all[fmt.Sprintf("%s%d", prefix, i)] = value
		}
		return all
	}
	const powerOn, remove = vmv1alpha1.CheckPowerOnPrefix, vmv1alpha1.CheckDeletePrefix
	tooLong := strings.Repeat("a", 257)
	for name, tc := range map[string]struct {
		now, old map[string]string
		want     []string
	}{
		"none":                         {now: many("", 0, "")},
		"as many as may be":            {now: many(powerOn, 16, strings.Repeat("a", 256))},
		"without a reason":             {now: many(remove, 1, "")},
		"one too many":                 {now: many(remove, 17, ""), want: []string{"Forbidden metadata.annotations"}},
		"one more than there were":     {now: many(powerOn, 17, ""), old: many(powerOn, 16, ""), want: []string{"Forbidden metadata.annotations"}},
		"fewer of too many":            {now: many(powerOn, 17, ""), old: many(powerOn, 18, "")},
		"a reason that is too long":    {now: many(powerOn, 1, tooLong), want: []string{"TooLong metadata.annotations[" + powerOn + "0]"}},
		"a long reason that was there": {now: many(powerOn, 1, tooLong), old: many(powerOn, 1, tooLong)},
		"a reason that became too long": {now: many(powerOn, 1, tooLong), old: many(powerOn, 1, "a"),
			want: []string{"TooLong metadata.annotations[" + powerOn + "0]"}},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.want, validateChecks(tc.now, tc.old)) })
	}
}
