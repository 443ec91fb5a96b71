// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/fleet"
)

// library has the items of one vCenter.
type library struct {
	provider.Images
	items []string
	err   error
}

func (l library) Items(context.Context, string) ([]provider.LibraryItem, error) {
	var out []provider.LibraryItem
	for _, name := range l.items {
		out = append(out, provider.LibraryItem{Name: name})
	}
	return out, l.err
}

func TestImages_ListsItemsOfAllVCenters(t *testing.T) {
	unreachable := errors.New("unreachable")
	missing := &provider.NotUsableError{Message: "there is no library", Missing: true}
	twice := &provider.NotUsableError{Message: "there are 2 libraries"}
	for name, tc := range map[string]struct {
		sources []fleet.Source
		items   []string
		err     string
		unread  []string
		is      error
	}{
		"no vCenter":                 {err: provider.ErrNotInUse.Error(), is: provider.ErrNotInUse},
		"both":                       {sources: []fleet.Source{{VCenter: "a", Images: library{items: []string{"x"}}}, {VCenter: "b", Images: library{items: []string{"x", "y"}}}}, items: []string{"a/x", "b/x", "b/y"}},
		"one vCenter has it":         {sources: []fleet.Source{{VCenter: "a", Images: library{err: missing}}, {VCenter: "b", Images: library{items: []string{"x"}}}}, items: []string{"b/x"}},
		"one vCenter has two":        {sources: []fleet.Source{{VCenter: "a", Images: library{err: twice}}, {VCenter: "b", Images: library{items: []string{"x"}}}}, items: []string{"b/x"}},
		"one vCenter is unreachable": {sources: []fleet.Source{{VCenter: "a", Images: library{err: unreachable}}, {VCenter: "b", Images: library{items: []string{"x"}}}}, items: []string{"b/x"}, err: "vCenter a: unreachable", unread: []string{"a"}, is: unreachable},
		"one vCenter is not in use yet": {sources: []fleet.Source{{VCenter: "a", Err: provider.ErrNotInUse}, {VCenter: "b", Images: library{err: missing}}},
			err: "vCenter a: no hypervisor is in use", unread: []string{"a"}, is: provider.ErrNotInUse},
		"the only vCenter is unreachable": {sources: []fleet.Source{{VCenter: "a", Images: library{err: unreachable}}}, err: "unreachable", unread: []string{"a"}, is: unreachable},
		"no vCenter has it":               {sources: []fleet.Source{{VCenter: "a", Images: library{err: missing}}, {VCenter: "b", Images: library{err: missing}}}, err: "there is no library", is: missing},
		"no vCenter has exactly one":      {sources: []fleet.Source{{VCenter: "a", Images: library{err: missing}}, {VCenter: "b", Images: library{err: twice}}}, err: "vCenter b: there are 2 libraries", is: twice},
	} {
		items, err := fleet.Images{Sources: func(context.Context) []fleet.Source { return tc.sources }}.Items(t.Context(), "golden")
		var got []string
		for _, i := range items {
			got = append(got, i.VCenter+"/"+i.Name)
		}
		if diff := cmp.Diff(tc.items, got); diff != "" {
			t.Errorf("%s: items (-want +got):\n%s", name, diff)
		}
		var unread *provider.PartialResultError
		message, unreadVCenters := "", []string(nil)
		if err != nil {
			message = err.Error()
		}
		if errors.As(err, &unread) {
			unreadVCenters = unread.VCenters
		}
		if message != tc.err || !errors.Is(err, tc.is) || !cmp.Equal(unreadVCenters, tc.unread) {
			t.Errorf("%s: error %q, unread %v; want %q, %v", name, message, unreadVCenters, tc.err, tc.unread)
		}
	}
}
