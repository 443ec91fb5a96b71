// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// allowance is the decision whether Machines may be remediated. remaining is the number of Machines that may become
// unhealthy before remediation is no longer allowed. message explains why it is not allowed.
type allowance struct {
	allowed   bool
	remaining int32
	message   string
}

// computeAllowance computes the allowance from the numbers of all targets and of healthy targets.
func computeAllowance(c *check, targets, healthy int) (allowance, error) {
	unwell := targets - healthy
	trigger := &c.Spec.Remediation.TriggerIf
	if trigger.UnhealthyInRange != "" {
		least, most, err := parseRange(trigger.UnhealthyInRange)
		if err != nil {
			return allowance{}, fmt.Errorf("spec.remediation.triggerIf.unhealthyInRange: %w", err)
		}
		if unwell >= least && unwell <= most {
			return allowance{allowed: true, remaining: int32(most - unwell)}, nil
		}
		return allowance{message: fmt.Sprintf(
			"Remediation is not allowed, the number of not started or unhealthy machines does not fall within the range (total: %d, unhealthy: %d, unhealthyRange: %s)",
			targets, unwell, trigger.UnhealthyInRange)}, nil
	}
	limit := ptr.Deref(trigger.UnhealthyLessThanOrEqualTo, intstr.FromString("100%"))
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, targets, false)
	if err != nil {
		return allowance{}, fmt.Errorf("spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: %w", err)
	}
	if unwell <= most {
		return allowance{allowed: true, remaining: int32(most - unwell)}, nil
	}
	return allowance{message: fmt.Sprintf(
		"Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: %d, unhealthy: %d, maxUnhealthy: %s)",
		targets, unwell, limit.String())}, nil
}

// parseRange parses a range such as [3-5].
func parseRange(text string) (least, most int, err error) {
	inner, closed := strings.CutSuffix(text, "]")
	inner, opened := strings.CutPrefix(inner, "[")
	from, to, both := strings.Cut(inner, "-")
	if opened && closed && both {
		a, errA := strconv.ParseUint(from, 10, 31)
		b, errB := strconv.ParseUint(to, 10, 31)
		if errA == nil && errB == nil && a <= b {
			return int(a), int(b), nil
		}
	}
	return 0, 0, fmt.Errorf("%.40q is not a range such as [3-5]", text)
}
