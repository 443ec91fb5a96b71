// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// Source is a vCenter with images.
type Source struct {
	// VCenter is the name of the VCenter.
	VCenter string
	// Images accesses the images of the vCenter; nil if it cannot be queried because of Err.
	Images provider.Images
	Err    error
}

// Images finds images in several vCenters. An image refers to its source by name, and several vCenters may have an
// object of that name.
type Images struct {
	// Sources returns all vCenters, in the order of preference for descriptions.
	Sources func(context.Context) []Source
}

var _ provider.Images = Images{}

// Items implements provider.Images. Items of different vCenters are different items.
func (i Images) Items(ctx context.Context, library string) ([]provider.LibraryItem, error) {
	all, results, err := queryAll(ctx, i.Sources(ctx), func(ctx context.Context, from provider.Images) ([]provider.LibraryItem, error) {
		return from.Items(ctx, library)
	})
	var items []provider.LibraryItem
	for n, of := range results {
		for _, item := range of {
			item.VCenter = all[n]
			items = append(items, item)
		}
	}
	return items, err
}

// DescribeItem implements provider.Images.
func (i Images) DescribeItem(ctx context.Context, item provider.LibraryItem) (*provider.ImageDescription, error) {
	for _, s := range i.Sources(ctx) {
		if s.VCenter != item.VCenter {
			continue
		}
		if s.Err != nil {
			return nil, s.Err
		}
		return s.Images.DescribeItem(ctx, item)
	}
	return nil, provider.ErrNotInUse // the vCenter was removed in the meantime
}

// DescribeTemplate implements provider.Images. It returns the description of the first vCenter that has the template.
func (i Images) DescribeTemplate(ctx context.Context, inventoryPath string) (*provider.ImageDescription, error) {
	all, answers, err := queryAll(ctx, i.Sources(ctx), func(ctx context.Context, from provider.Images) (*provider.ImageDescription, error) {
		return from.DescribeTemplate(ctx, inventoryPath)
	})
	if len(answers) == 0 {
		return nil, err
	}
	d := *answers[0]
	d.Status.VCenters = all
	return &d, err
}

// queryAll queries all sources concurrently. It returns the names of those that have a result, and their results in the
// same order. It returns an error if there is no result, and a PartialResultError if some sources could not be queried.
func queryAll[T any](ctx context.Context, sources []Source, query func(context.Context, provider.Images) (T, error)) (names []string, results []T, err error) {
	got, errs := make([]T, len(sources)), make([]error, len(sources))
	var wg sync.WaitGroup
	for n, s := range sources {
		if errs[n] = s.Err; s.Err == nil {
			wg.Go(func() { got[n], errs[n] = query(ctx, s.Images) })
		}
	}
	wg.Wait()
	var refusals, unread []error
	var unreadVCenters []string
	for n, s := range sources {
		var unusable *provider.NotUsableError
		switch {
		case errs[n] == nil:
			names, results = append(names, s.VCenter), append(results, got[n])
		case errors.As(errs[n], &unusable):
			refusals = append(refusals, errs[n])
		default:
			unreadVCenters, unread = append(unreadVCenters, s.VCenter), append(unread, withVCenter(sources, s.VCenter, errs[n]))
		}
	}
	switch {
	case len(sources) == 0:
		return nil, nil, provider.ErrNotInUse
	case len(unread) > 0:
		return names, results, &provider.PartialResultError{VCenters: unreadVCenters, HasResults: len(results) > 0, Err: errors.Join(unread...)}
	case len(results) == 0:
		return nil, nil, joinRefusals(sources, refusals)
	}
	return names, results, nil
}

// withVCenter adds the name of the vCenter to an error if there are several vCenters.
func withVCenter(sources []Source, vcenter string, err error) error {
	if len(sources) == 1 {
		return err
	}
	return fmt.Errorf("vCenter %s: %w", vcenter, err)
}

// joinRefusals returns the error if no vCenter has a usable object: the problems in the vCenters that have the object,
// or that it is missing.
func joinRefusals(sources []Source, refusals []error) error {
	var missing error
	var wrong []error
	for n, err := range refusals {
		var unusable *provider.NotUsableError
		if errors.As(err, &unusable) && unusable.Missing {
			missing = err
			continue
		}
		wrong = append(wrong, withVCenter(sources, sources[n].VCenter, err))
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	return missing
}
