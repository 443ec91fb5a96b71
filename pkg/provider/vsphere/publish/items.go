// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// local is the type of a library whose items are created in this vCenter (vSphere Automation API, LibraryModel
// LibraryType). Other types are read-only.
const local = "LOCAL"

// library finds the library. It returns an error if the library is read-only.
func (p *Publisher) library(ctx context.Context, pub *provider.PublishRequest) (id string, err error) {
	var lib *library.Library
	err = p.Session.WithREST(ctx, "rest.FindLibrary", func(ctx context.Context, c *rest.Client) (err error) {
		m := library.NewManager(c)
		if id, err = placement.FindLibrary(ctx, m, pub.Library); err != nil {
			return err
		}
		lib, err = m.GetLibraryByID(ctx, id)
		return err
	})
	var unusable *provider.NotUsableError
	switch {
	case errors.As(err, &unusable) && unusable.Missing:
		return "", p.refused(vmv1alpha1.ReasonNotFound, "%s", err)
	case errors.As(err, &unusable):
		return "", p.refused(vmv1alpha1.ReasonInvalid, "%s", err)
	case err != nil:
		return "", fmt.Errorf("finding content library %q: %w", pub.Library, err)
	case !strings.EqualFold(lib.Type, local):
		return "", p.refused(vmv1alpha1.ReasonInvalid, "content library %q has type %s, but publishing requires type %s", pub.Library, lib.Type, local)
	}
	return id, nil
}

// item finds the item and its state. item is nil if it does not exist.
func (p *Publisher) item(ctx context.Context, lib string, pub *provider.PublishRequest) (item *library.Item, s state, err error) {
	err = p.Session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) error {
		m := library.NewManager(c)
		found, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: lib, Name: pub.Item})
		if err != nil || len(found) == 0 {
			return err
		}
		if len(found) > 1 {
			return p.refused(vmv1alpha1.ReasonNameTaken, "library %q has %d items with the name %q: choose another name", pub.Library, len(found), pub.Item)
		}
		one, err := m.GetLibraryItem(ctx, found[0])
		if vimfault.KindOf(err) == vimfault.NotFound {
			return nil // It was deleted in the meantime.
		}
		if err != nil {
			return err
		}
		files, err := m.ListLibraryItemFiles(ctx, one.ID)
		if err != nil {
			return err
		}
		item, s = one, state{exists: true, version: one.ContentVersion}
		if one.Description != nil {
			s.description = *one.Description
		}
		for _, f := range files {
			s.hasContent = s.hasContent || strings.EqualFold(path.Ext(f.Name), ".ovf")
		}
		return nil
	})
	var refused *provider.PublishRefusedError
	if err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("finding item %q of content library %q: %w", pub.Item, pub.Library, err)
	}
	return item, s, err
}

func (p *Publisher) get(ctx context.Context, id string) (item *library.Item, err error) {
	err = p.Session.WithREST(ctx, "rest.GetLibraryItem", func(ctx context.Context, c *rest.Client) (err error) {
		item, err = library.NewManager(c).GetLibraryItem(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading library item %s: %w", id, err)
	}
	return item, nil
}

// describe sets the description of an item. A capture does not change it.
func (p *Publisher) describe(ctx context.Context, item *library.Item, text string) error {
	err := p.Session.WithREST(ctx, "rest.UpdateLibraryItem", func(ctx context.Context, c *rest.Client) error {
		return library.NewManager(c).UpdateLibraryItem(ctx, &library.Item{ID: item.ID, Name: item.Name, Description: &text})
	})
	if err != nil {
		return fmt.Errorf("updating the description of library item %q: %w", item.Name, err)
	}
	return nil
}

func (p *Publisher) delete(ctx context.Context, item *library.Item) error {
	err := p.Session.WithREST(ctx, "rest.DeleteLibraryItem", func(ctx context.Context, c *rest.Client) error {
		return library.NewManager(c).DeleteLibraryItem(ctx, item)
	})
	if err != nil && vimfault.KindOf(err) != vimfault.NotFound {
		return fmt.Errorf("deleting library item %q: %w", item.Name, err)
	}
	return nil
}
