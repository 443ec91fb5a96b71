// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
)

const (
	// maxExpression is the maximum size of a probe's expression, in steps. Matching takes at most this number of steps
	// for each byte of a value.
	maxExpression = 1024
	// MaxGuestInfoValue is the maximum length of a value that is matched with an expression, in bytes.
	MaxGuestInfoValue = 4096
)

// CompileGuestInfo compiles the expression of a guestInfo probe so that it matches entire values. It returns an error
// with a message for users if the expression would need too much time or memory. Repetitions are expanded, so a short
// expression can compile to millions of steps.
func CompileGuestInfo(expression string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	if countSteps(parsed) > maxExpression {
		return nil, fmt.Errorf("must compile to at most %d steps: use fewer repetitions", maxExpression)
	}
	compiled, err := regexp.Compile(`\A(?:` + expression + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	return compiled, nil
}

// countSteps estimates the number of instructions that an expression compiles to.
func countSteps(re *syntax.Regexp) int {
	n := 1
	switch re.Op { //nolint:exhaustive // others count as one step plus the steps of their subexpressions
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n = 0
	}
	for _, sub := range re.Sub {
		n = saturatingAdd(n, countSteps(sub))
	}
	if re.Op == syntax.OpRepeat {
		if n > math.MaxInt32/max(re.Min, re.Max, 1) {
			return math.MaxInt32
		}
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

func saturatingAdd(a, b int) int { return min(a+b, math.MaxInt32) }
