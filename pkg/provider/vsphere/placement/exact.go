// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// exact returns a pattern for govmomi's finder that matches a name or inventory path and
// nothing else. To the finder names are patterns of path.Match, and the parts ..
// and ... lead elsewhere (package find).
func exact(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		part = patterns.Replace(part)
		if part == ".." || part == "..." {
			part = `\` + part
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// patterns quotes what path.Match gives a meaning to.
var patterns = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// escapes are the characters that vSphere escapes in the name of an object (vSphere API,
// ManagedEntity.name). Its clients show a name without escapes.
var escapes = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// Spellings returns what vSphere may call the object of a name or inventory path, in the order in
// which they are searched: as it is written, with a / between the parts of a path; as a path
// whose parts are written as clients show them; and, without a / at the beginning, as one name
// that a client shows.
func Spellings(name string) []string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = escapes.Replace(parts[i])
	}
	all := []string{name, strings.Join(parts, "/")}
	if !strings.HasPrefix(name, "/") {
		all = append(all, escapes.Replace(name))
	}
	return slices.Compact(all)
}

// one returns the only object of a name or inventory path, or the only one that matches the
// pattern byDefault if there is no name. list is a method of govmomi's finder.
func one[T object.Reference](ctx context.Context, c *vim25.Client, what, name, byDefault string, list func(context.Context, string) ([]T, error)) (T, error) {
	searched := []string{byDefault}
	if name != "" {
		searched = nil
		for _, s := range Spellings(name) {
			searched = append(searched, exact(s))
		}
	}
	var none T
	var err error
	for _, pattern := range searched {
		var all []T
		all, err = list(ctx, pattern)
		var missing *find.NotFoundError
		switch {
		case errors.As(err, &missing):
			continue
		case err != nil:
			return none, explain(what, name, err)
		case len(all) == 1:
			return all[0], nil
		}
		refs := make([]types.ManagedObjectReference, 0, len(all))
		for _, o := range all {
			refs = append(refs, o.Reference())
		}
		return none, Ambiguous(ctx, c, what, name, refs)
	}
	return none, explain(what, name, err)
}

// maxPathsShown bounds the inventory paths in a message.
const maxPathsShown = 10

// Ambiguous returns a NotUsableError that lists the inventory paths of the objects that have a
// name, or of all if there is no name. Port groups of NSX can have the same path, too
// (find.Finder.Network): then it lists managed object IDs, which are names as well.
func Ambiguous(ctx context.Context, c *vim25.Client, what, name string, refs []types.ManagedObjectReference) error {
	message := fmt.Sprintf("vSphere has %d %ss %q: name one by its inventory path", len(refs), what, name)
	if name == "" {
		message = fmt.Sprintf("vSphere has more than one %s: name one", what)
	}
	var paths []string
	for _, ref := range refs[:min(len(refs), maxPathsShown)] {
		path, err := find.InventoryPath(ctx, c, ref)
		if err != nil {
			return fmt.Errorf("reading the inventory path of %s %s: %w", what, ref.Value, err)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	if distinct := slices.Compact(slices.Clone(paths)); len(distinct) < len(paths) {
		message, paths = fmt.Sprintf("vSphere has %d %ss %q: name one by its managed object ID", len(refs), what, name), nil
		for _, ref := range refs[:min(len(refs), maxPathsShown)] {
			paths = append(paths, ref.String())
		}
		slices.Sort(paths)
	}
	message += ": " + strings.Join(paths, ", ")
	if more := len(refs) - len(paths); more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	return &NotUsableError{Message: message}
}

// AtPath returns the first object that one of the inventory paths leads to, and that path; nil if
// none does. The object may be of any type.
func AtPath(ctx context.Context, c *vim25.Client, what string, paths []string) (object.Reference, string, error) {
	index := object.NewSearchIndex(c)
	for _, path := range paths {
		ref, err := index.FindByInventoryPath(ctx, path)
		if err != nil {
			return nil, "", explain(what, path, err)
		}
		if ref != nil {
			return ref, path, nil
		}
	}
	return nil, "", nil
}
