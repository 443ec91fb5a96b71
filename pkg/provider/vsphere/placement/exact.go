// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
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

// exact returns a pattern for govmomi's finder that matches only a name or inventory path. The finder interprets
// names as patterns of path.Match, and the parts .. and ... as other locations (package find).
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

// patterns quotes the special characters of path.Match.
var patterns = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// escapes are the characters that vSphere escapes in object names (vSphere API, ManagedEntity.name). Its clients
// show names without escapes.
var escapes = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// Spellings returns the possible names in vSphere for a name or inventory path, in search order: the unchanged
// name, with slashes between the parts of a path; a path with escaped parts, as clients show them; and, without
// leading slash, a single escaped name.
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

// findOne returns the object with a unique name or inventory path. If there is no name, it returns the only object that
// matches the pattern byDefault. list is a method of govmomi's finder.
func findOne[T object.Reference](ctx context.Context, c *vim25.Client, what, name, byDefault string, list func(context.Context, string) ([]T, error)) (T, error) {
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
		return none, AmbiguousError(ctx, c, what, name, refs)
	}
	return none, explain(what, name, err)
}

// maxPathsShown is the maximum number of inventory paths in a message.
const maxPathsShown = 10

// UnspecifiedError is returned if no name is configured and vSphere has several objects of the kind. It is a
// NotUsableError.
type UnspecifiedError struct {
	*NotUsableError
	// What names the kind of object, for example WhatNetwork.
	What string
	// Candidates are the first of the objects, in the order of their inventory paths. More is the number of the others.
	Candidates []SurveyResult
	More       int
}

// Unwrap returns the NotUsableError.
func (e *UnspecifiedError) Unwrap() error { return e.NotUsableError }

// AmbiguousError returns a NotUsableError with the inventory paths of the objects that have a name, or an
// UnspecifiedError with those of all objects if the name is empty. NSX port groups can also have the same path
// (find.Finder.Network). In that case it lists managed object IDs, which are valid names too.
func AmbiguousError(ctx context.Context, c *vim25.Client, what, name string, refs []types.ManagedObjectReference) error {
	message := fmt.Sprintf("vSphere has %d %ss with the name %q: use an inventory path", len(refs), what, name)
	if name == "" {
		message = fmt.Sprintf("vSphere has more than one %s: specify one", what)
	}
	var candidates []SurveyResult
	for _, ref := range refs[:min(len(refs), maxPathsShown)] {
		path, err := find.InventoryPath(ctx, c, ref)
		if err != nil {
			return fmt.Errorf("reading the inventory path of %s %s: %w", what, ref.Value, err)
		}
		candidates = append(candidates, SurveyResult{What: what, Path: path, Ref: ref})
	}
	slices.SortFunc(candidates, func(a, b SurveyResult) int { return cmp.Compare(a.Path, b.Path) })
	var paths []string
	for i := range candidates {
		paths = append(paths, candidates[i].Path)
	}
	if distinct := slices.Compact(slices.Clone(paths)); len(distinct) < len(paths) {
		message, paths = fmt.Sprintf("vSphere has %d %ss with the name %q: use a managed object ID", len(refs), what, name), nil
		for _, ref := range refs[:min(len(refs), maxPathsShown)] {
			paths = append(paths, ref.String())
		}
		slices.Sort(paths)
	}
	message += ": " + strings.Join(paths, ", ")
	more := len(refs) - len(paths)
	if more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	unusable := &NotUsableError{Message: message}
	if name != "" {
		return unusable
	}
	return &UnspecifiedError{NotUsableError: unusable, What: what, Candidates: candidates, More: more}
}

// FindAtPath returns the first object that exists at one of the inventory paths, and that path. It returns nil if there
// is none. The object may be of any type.
func FindAtPath(ctx context.Context, c *vim25.Client, what string, paths []string) (object.Reference, string, error) {
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
