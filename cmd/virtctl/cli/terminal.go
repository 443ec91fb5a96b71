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

// Text from servers, files and arguments can contain escape sequences that change a terminal's title or colours,
// write the clipboard, or change the text direction (see CVE-2021-25743 of kubectl, which replaces only ESC and CR).

// showControls escapes control characters in the streams. JSON and YAML output is unaffected, because both formats
// already escape them.
func showControls(streams genericiooptions.IOStreams) genericiooptions.IOStreams {
	streams.Out, streams.ErrOut = Terminal{streams.Out}, Terminal{streams.ErrOut}
	return streams
}

// Terminal escapes all control characters except line feeds and tabs. A write must not end within a character.
type Terminal struct{ Out io.Writer }

// Write implements io.Writer.
func (t Terminal) Write(text []byte) (int, error) {
	if _, err := io.WriteString(t.Out, Escape(string(text), "\n\t")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Cell returns text as one cell of a table.
func Cell(text string) string { return Escape(text, "") }

// Escape escapes unprintable characters as in Go and JSON, except the given ones.
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

// turns reports whether a character embeds, overrides or isolates a text direction.
func turns(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }
