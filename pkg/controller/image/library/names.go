// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// maxName is the maximum length of an image's name in bytes. It is that of a label value.
	maxName = 63
	// defaultTemplate is the name template of libraries that do not specify one.
	defaultTemplate = "{item}"
	// noName is the name of an item that has no character which a name can contain.
	noName = "image"
)

// imageName returns the name that the library's template yields for an item.
func imageName(library *vmv1alpha1.ContentLibrary, item string) string {
	name := strings.NewReplacer("{item}", item, "{library}", library.Spec.Library).
		Replace(cmp.Or(library.Spec.NameTemplate, defaultTemplate))
	return cmp.Or(slug(name), noName)
}

// slug converts text to the name of an object: lower case, with one hyphen for each run of characters that a name cannot
// contain. It returns an empty string if no character is left.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-") && !strings.HasSuffix(b.String(), "."):
			if r != '.' {
				r = '-'
			}
			b.WriteRune(r)
		}
		if b.Len() == maxName {
			break
		}
	}
	// A dot must have letters or digits on both sides.
	return strings.TrimRight(strings.ReplaceAll(b.String(), "-.", "-"), "-.")
}

func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, text) })
}

// matches reports whether text matches a pattern, in which * matches any characters and ? matches one.
func matches(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("^(?s:" + expression + ")$").MatchString(text)
}
