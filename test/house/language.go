// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// phrase is an expression that comments, messages and API descriptions must not contain.
type phrase struct {
	// words is a regular expression for lower-case text.
	words string
	// instead is the replacement.
	instead string
}

// phrases are common in a dialect that this project was once written in. A reader has to translate them.
var phrases = []phrase{
	{`nobody|somebody|anybody`, "name the user, client or process: no user, another client, any user"},
	{`whoever|whom`, "a user that, a client that"},
	{`anew`, "again"},
	{`of before`, "previous"},
	{`told|tells? (of|that|whether|what|about)`, "reports, returns, records"},
	{`shall`, "must"},
	{`beside`, "next to, in addition to"},
	{`for ever`, "without limit"},
	{`(is|are|was|were) gone`, "is deleted, is not found"},
	{`look(s|ed|ing)? (at|after)`, "checks, reads, manages, reconciles"},
	{`looks? again`, "requeues, checks again"},
	{`keeps? in mind`, "stores"},
	{`(is|are) none of`, "is not in"},
	{`lets? go of`, "releases"},
	{`comes? first`, "takes precedence, is done first"},
	{`mend(s|ed|ing)?`, "repairs"},
	{`tak(es|en|ing) over`, "adopts, copies"},
	{`brings? to rest`, "quiesces"},
	{`ends with [0-9]+`, "exits with status"},
	{`host cluster`, "management cluster"},
	{`heard|hears? (of|about)`, "receives an event"},
	{`made of`, "built from, computed from"},
	{`stands? for`, "represents"},
	{`is at it`, "is doing it already"},
	{`half made`, "incomplete"},
	{`puts? right`, "corrects"},
	{`left alone`, "not changed"},
	{`says? (so|that|what|whether|of|about|how|why|nothing)`, "reports, states, specifies"},
}

// banned matches any of the phrases.
var banned = func() *regexp.Regexp {
	all := make([]string, len(phrases))
	for i, p := range phrases {
		all[i] = p.words
	}
	return regexp.MustCompile(`\b(` + strings.Join(all, "|") + `)\b`)
}()

// bannedPhrases returns the banned phrases in the comments and string literals of a file, each with its replacement. A
// literal without a space is a name.
func (s source) bannedPhrases() (found []string) {
	check := func(pos token.Pos, text string) {
		for _, match := range banned.FindAllString(strings.ToLower(strings.Join(strings.Fields(text), " ")), -1) {
			found = append(found, fmt.Sprintf("%s: %q; write: %s", s.at(pos), match, replacement(match)))
		}
	}
	for _, group := range s.file.Comments {
		check(group.Pos(), group.Text())
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
				check(literal.Pos(), text)
			}
		}
		return true
	})
	return found
}

func replacement(match string) string {
	for _, p := range phrases {
		if regexp.MustCompile(`^(` + p.words + `)$`).MatchString(match) {
			return p.instead
		}
	}
	return ""
}
