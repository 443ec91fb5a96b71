// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Text of servers, files and arguments may hold sequences that a terminal acts on: they
// change its title or colours, write the clipboard, or turn the direction of the text
// (CVE-2021-25743 of kubectl, which replaces ESC and CR alone).

// showControls makes the streams show what a terminal would act on. JSON and YAML stay
// what they are: both write control characters as such escapes, and YAML quotes them.
func showControls(streams genericiooptions.IOStreams) genericiooptions.IOStreams {
	streams.Out, streams.ErrOut = Terminal{streams.Out}, Terminal{streams.ErrOut}
	return streams
}

// Terminal escapes all but line feeds and tabulators. Who writes to it ends no write
// within a character.
type Terminal struct{ Out io.Writer }

// Write implements io.Writer.
func (t Terminal) Write(text []byte) (int, error) {
	if _, err := io.WriteString(t.Out, Escape(string(text), "\n\t")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Cell is text as one cell of a table.
func Cell(text string) string { return Escape(text, "") }

// Escape writes what is no printable text as in Go and JSON, but for the characters
// that are kept.
func Escape(text, kept string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case strings.ContainsRune(kept, r) || !unicode.IsControl(r) && !turns(r):
			out.WriteString(text[i : i+size])
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += size
	}
	return out.String()
}

// turns is true for the characters that embed, override or isolate a direction of text.
func turns(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }
