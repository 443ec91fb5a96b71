// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text says what is wrong with the characters of text, or nothing. lines lets it have
// tabulators and line feeds; no text has carriage returns, which XML turns into line
// feeds.
func Text(text string, lines bool) string {
	for at, r := range text {
		if lines && (r == '\t' || r == '\n') || printable(r) {
			continue
		}
		if r == utf8.RuneError && text[at] != "\ufffd"[0] {
			return fmt.Sprintf("must be UTF-8, which byte %d is not", at)
		}
		return fmt.Sprintf("must not have control characters or characters that change the direction of text: there is %U at byte %d", r, at)
	}
	return ""
}

// Clean returns text without the characters that no text may have, cut to MaxText bytes.
func Clean(text string) string { return clean(text, MaxText) }

// CleanHostName is Clean for a host name.
func CleanHostName(text string) string { return clean(text, maxHostName) }

func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if printable(r) {
			return r
		}
		return -1
	}, text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// printable is false for what XML 1.0 cannot carry (its production Char), for what
// stands for a character that could not be read, and for what a terminal or a browser
// acts on instead of showing it.
func printable(r rune) bool {
	switch {
	case unicode.IsControl(r), r == utf8.RuneError, r == '\ufffe', r == '\uffff':
		return false
	case r == '\u2028', r == '\u2029': // separators of lines and paragraphs
		return false
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // Bidi_Control but for the marks
		return false
	}
	return true
}
