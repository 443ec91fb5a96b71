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
	// maxName is the longest name that an image gets, in bytes: it fits into labels.
	maxName = 63
	// defaultTemplate is the name of images without another template.
	defaultTemplate = "{item}"
	// noName is the name of an item of which nothing fits into a name.
	noName = "image"
)

// imageName is the name that the template of a library gives to an item.
func imageName(library *vmv1alpha1.ContentLibrary, item string) string {
	name := strings.NewReplacer("{item}", item, "{library}", library.Spec.Library).
		Replace(cmp.Or(library.Spec.NameTemplate, defaultTemplate))
	return cmp.Or(slug(name), noName)
}

// slug is text as the name of an object: in lower case, with one hyphen for each run of
// what a name cannot have. It is empty if nothing is left.
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
	// A dot has to have letters or digits on both sides.
	return strings.TrimRight(strings.ReplaceAll(b.String(), "-.", "-"), "-.")
}

func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, text) })
}

// matches tells whether text is of a pattern, in which * stands for any characters and ?
// for one.
func matches(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("^(?s:" + expression + ")$").MatchString(text)
}
