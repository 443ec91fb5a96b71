// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
)

// mention is F61, or the range F64-66.
var mention = regexp.MustCompile(`\bF(\d{1,3})(?:-F?(\d{1,3}))?\b`)

// named returns the numbers that the comments and texts of a Go source name.
func named(source []byte) []int {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", set.Base(), len(source)), source, nil, scanner.ScanComments)
	var numbers []int
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return numbers
		case token.COMMENT, token.STRING:
			numbers = append(numbers, mentions(text)...)
		}
	}
}

func mentions(text string) []int {
	var numbers []int
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		first, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		last := first
		if m[2] != "" {
			if last, err = strconv.Atoi(m[2]); err != nil {
				continue
			}
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
