// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a description of the first invalid character in text, or "" if there is none. lines allows tabs and line
// feeds. Carriage returns are invalid because XML converts them to line feeds.
func Text(text string, lines bool) string {
	for at, r := range text {
		if lines && (r == '\t' || r == '\n') || isPrintable(r) {
			continue
		}
		if r == utf8.RuneError && text[at] != "\ufffd"[0] {
			return fmt.Sprintf("must be valid UTF-8, but byte %d is not", at)
		}
		return fmt.Sprintf("must not contain control characters or characters that change the text direction: found %U at byte %d", r, at)
	}
	return ""
}

// Clean removes invalid characters from text and truncates it to MaxText bytes.
func Clean(text string) string { return removeInvalid(text, MaxText) }

// CleanHostName removes invalid characters from a host name and truncates it to the maximum length of a DNS name.
func CleanHostName(text string) string { return removeInvalid(text, maxHostName) }

func removeInvalid(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if isPrintable(r) {
			return r
		}
		return -1
	}, text)
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// isPrintable reports whether r is valid in text. Invalid are characters that XML 1.0 cannot represent (production Char),
// the replacement character, and characters that change how a terminal or browser displays text.
func isPrintable(r rune) bool {
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
