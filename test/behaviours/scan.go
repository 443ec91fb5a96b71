// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviours

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
)

// mentionOf returns an expression that matches the numbers of a list, for example F61, and ranges, for example F64-66.
func mentionOf(list string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + list + `(\d{1,3})(?:-(?:` + list + `)?(\d{1,3}))?\b`)
}

// named returns the numbers in the comments and strings of a Go source.
func named(source []byte, mention *regexp.Regexp) []int {
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
			numbers = append(numbers, mentions(text, mention)...)
		}
	}
}

func mentions(text string, mention *regexp.Regexp) []int {
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
