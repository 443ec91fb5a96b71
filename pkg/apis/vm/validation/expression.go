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
	// maxExpression is the size that an expression of a probe may have, in steps. Matching
	// takes at most so many steps for each byte of a value.
	maxExpression = 1024
	// MaxGuestInfoValue is the longest value, in bytes, that is matched with an expression.
	MaxGuestInfoValue = 4096
)

// CompileGuestInfo compiles the expression of a guestInfo probe so that it matches whole
// values. It is an error, made for people, if that would take or need too much: what is
// repeated is unrolled, so that few characters may stand for millions of steps.
func CompileGuestInfo(expression string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	if steps(parsed) > maxExpression {
		return nil, fmt.Errorf("must take at most %d steps for each character: repeat less", maxExpression)
	}
	compiled, err := regexp.Compile(`\A(?:` + expression + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	return compiled, nil
}

// steps is about the number of instructions that an expression compiles to.
func steps(re *syntax.Regexp) int {
	n := 1
	switch re.Op { //nolint:exhaustive // the others are one step and what is below them
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n = 0
	}
	for _, sub := range re.Sub {
		n = sum(n, steps(sub))
	}
	if re.Op == syntax.OpRepeat {
		if n > math.MaxInt32/max(re.Min, re.Max, 1) {
			return math.MaxInt32
		}
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

func sum(a, b int) int { return min(a+b, math.MaxInt32) }
