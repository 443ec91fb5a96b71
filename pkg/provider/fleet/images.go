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

// Source is a vCenter that is asked for images.
type Source struct {
	// VCenter is its name.
	VCenter string
	// Images tells what it has; nil if Err says why it cannot be asked.
	Images provider.Images
	Err    error
}

// Images are those of several vCenters. An image is names, which may lead to something in
// any of them.
type Images struct {
	// Sources are all vCenters, those first that are asked first what an image is like.
	Sources func(context.Context) []Source
}

var _ provider.Images = Images{}

// Items implements provider.Images. An item of each vCenter is an item of its own.
func (i Images) Items(ctx context.Context, library string) ([]provider.LibraryItem, error) {
	all, answers, err := ask(ctx, i.Sources(ctx), func(ctx context.Context, from provider.Images) ([]provider.LibraryItem, error) {
		return from.Items(ctx, library)
	})
	var items []provider.LibraryItem
	for n, of := range answers {
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
	return nil, provider.ErrNotInUse // it was removed since
}

// DescribeTemplate implements provider.Images. The first vCenter that has a template at the
// path says what it is like.
func (i Images) DescribeTemplate(ctx context.Context, inventoryPath string) (*provider.ImageDescription, error) {
	all, answers, err := ask(ctx, i.Sources(ctx), func(ctx context.Context, from provider.Images) (*provider.ImageDescription, error) {
		return from.DescribeTemplate(ctx, inventoryPath)
	})
	if len(answers) == 0 {
		return nil, err
	}
	d := *answers[0]
	d.Status.VCenters = all
	return &d, err
}

// ask asks all at the same time, and returns the names of those that have something and what
// that is, in their order. With nothing it is an error; it is an UnreadError if some could not
// be asked.
func ask[T any](ctx context.Context, sources []Source, what func(context.Context, provider.Images) (T, error)) (names []string, answers []T, err error) {
	got, errs := make([]T, len(sources)), make([]error, len(sources))
	var asking sync.WaitGroup
	for n, s := range sources {
		if errs[n] = s.Err; s.Err == nil {
			asking.Go(func() { got[n], errs[n] = what(ctx, s.Images) })
		}
	}
	asking.Wait()
	var refusals, unread []error
	var silent []string
	for n, s := range sources {
		var unusable *provider.NotUsableError
		switch {
		case errs[n] == nil:
			names, answers = append(names, s.VCenter), append(answers, got[n])
		case errors.As(errs[n], &unusable):
			refusals = append(refusals, errs[n])
		default:
			silent, unread = append(silent, s.VCenter), append(unread, named(sources, s.VCenter, errs[n]))
		}
	}
	switch {
	case len(sources) == 0:
		return nil, nil, provider.ErrNotInUse
	case len(unread) > 0:
		return names, answers, &provider.UnreadError{VCenters: silent, Answered: len(answers) > 0, Err: errors.Join(unread...)}
	case len(answers) == 0:
		return nil, nil, refusal(sources, refusals)
	}
	return names, answers, nil
}

// named is an error with the name of its vCenter, if there are others.
func named(sources []Source, vcenter string, err error) error {
	if len(sources) == 1 {
		return err
	}
	return fmt.Errorf("vCenter %s: %w", vcenter, err)
}

// refusal is what all vCenters have answered: that it is missing, or what is wrong with it in
// those that have it.
func refusal(sources []Source, refusals []error) error {
	var missing error
	var wrong []error
	for n, err := range refusals {
		var unusable *provider.NotUsableError
		if errors.As(err, &unusable) && unusable.Missing {
			missing = err
			continue
		}
		wrong = append(wrong, named(sources, sources[n].VCenter, err))
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	return missing
}
