// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/cmd/virtctl/imagefile"
	"github.com/slipway-dev/slipway/cmd/virtctl/login"
)

const (
	// attempts is the number of consecutive attempts without a further complete file.
	attempts = 5
	// firstDelay and maxDelay bound the delay between attempts.
	firstDelay, maxDelay = time.Second, 30 * time.Second
	// cleanUpTimeout bounds the cleanup of a failed upload.
	cleanUpTimeout = time.Minute
)

// Upload uploads an image into a library. It must be used only once.
type Upload struct {
	// Server is the vCenter of the library.
	Server login.Server
	// Library and Item are the names of the library, which must be unique, and of the item.
	Library, Item string
	// Image is a verified image, whose files have digests.
	Image *imagefile.Image
	// Update replaces the content of an existing item. Without it, the item must not exist.
	Update bool
	// Sent receives the number of bytes uploaded, which can decrease.
	Sent func(bytes int64)
	// Say reports events to the user.
	Say func(format string, args ...any)

	client *rest.Client
	// library and item are the IDs.
	library, item string
	// made is true if this upload created the item.
	made bool
	// session is the update session. completing is true after its completion was requested.
	session    string
	completing bool
	// arrived is the number of bytes in the session.
	arrived int64
}

// Result identifies the uploaded content.
type Result struct {
	// Item is the ID of the item.
	Item string
	// ContentVersion is the content version after the upload.
	ContentVersion string
}

// InterruptedError means that the upload can be resumed by running it again.
type InterruptedError struct{ err error }

// Error implements error.
func (e *InterruptedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.err }

// Run uploads the image. It returns an InterruptedError if a retry may succeed.
func (u *Upload) Run(ctx context.Context) (Result, error) {
	delay := backoff()
	for {
		before := u.arrived
		result, err := u.once(ctx)
		switch {
		case err == nil:
			return result, nil
		case ctx.Err() != nil:
			return result, &InterruptedError{fmt.Errorf("interrupted: %w", context.Cause(ctx))}
		case status(err) == 404 && u.session != "" && !u.completing:
			err = &expiredError{err}
			u.session = ""
		case !temporary(err) || u.client == nil:
			u.giveUp(ctx)
			return result, explain(err)
		}
		if u.arrived > before {
			delay = backoff()
		}
		if delay.Steps == 0 {
			return result, &InterruptedError{fmt.Errorf("%w (tried %d times)", explain(err), attempts)}
		}
		pause := delay.Step()
		u.Say("%v: retrying in %v", explain(err), pause.Round(time.Second))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func backoff() wait.Backoff {
	return wait.Backoff{Duration: firstDelay, Factor: 2, Cap: maxDelay, Steps: attempts - 1}
}

// once makes one attempt and continues the previous one, of this or another process.
func (u *Upload) once(ctx context.Context) (Result, error) {
	if err := u.login(ctx); err != nil {
		return Result{}, err
	}
	m := library.NewManager(u.client)
	if err := u.find(ctx, m); err != nil {
		return Result{}, err
	}
	if u.completing {
		return u.result(ctx, m, u.finish(ctx, m)) // its response was lost
	}
	if err := u.open(ctx, m); err != nil {
		return Result{}, err
	}
	if err := u.transfer(ctx, m); err != nil {
		return Result{}, err
	}
	return u.result(ctx, m, u.finish(ctx, m))
}

// finish lets vCenter validate the files and publish them as the content of the item.
func (u *Upload) finish(ctx context.Context, m *library.Manager) error {
	session, err := m.GetLibraryItemUpdateSession(ctx, u.session)
	if err != nil {
		return fmt.Errorf("reading the update session: %w", err)
	}
	if session.State == stateActive {
		found, err := m.ValidateLibraryItemUpdateSessionFile(ctx, u.session)
		if err != nil {
			return fmt.Errorf("validating the files: %w", err)
		}
		if found.HasErrors {
			return invalid(found)
		}
		u.completing = true
		if err := m.CompleteLibraryItemUpdateSession(ctx, u.session); err != nil {
			return fmt.Errorf("completing the upload: %w", err)
		}
	}
	return u.poll(ctx, "the completion of the upload", func() (bool, error) {
		session, err := m.GetLibraryItemUpdateSession(ctx, u.session)
		switch {
		case err != nil:
			return false, fmt.Errorf("waiting for the end of the upload: %w", err)
		case session.State == stateActive:
			return false, nil
		case session.State != stateDone:
			return false, fmt.Errorf("vCenter rejected the image: the update session is %s%s", session.State, said(session.ErrorMessage))
		}
		return true, nil
	})
}

// invalid returns vCenter's validation errors.
func invalid(found *library.UpdateFileValidation) error {
	var errs []error
	for _, name := range found.MissingFiles {
		errs = append(errs, fmt.Errorf("file %s is missing", name))
	}
	for _, f := range found.InvalidFiles {
		errs = append(errs, fmt.Errorf("file %s is not valid: %s", f.Name, f.ErrorMessage.DefaultMessage))
	}
	return fmt.Errorf("vCenter rejected the image: %w", errors.Join(errs...))
}

func (u *Upload) result(ctx context.Context, m *library.Manager, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	// Otherwise vCenter deletes the session later.
	_ = m.DeleteLibraryItemUpdateSession(ctx, u.session)
	item, err := m.GetLibraryItem(ctx, u.item)
	if err != nil {
		return Result{}, fmt.Errorf("reading the new item: %w", err)
	}
	return Result{Item: u.item, ContentVersion: item.ContentVersion}, nil
}

// complete reports whether the item has all files of the image.
func (u *Upload) complete(files []library.File) bool {
	return !slices.ContainsFunc(u.Image.Files, func(f *imagefile.File) bool {
		return !slices.ContainsFunc(files, func(has library.File) bool { return has.Name == f.Name })
	})
}

// giveUp releases what would block other clients or be mistaken for an image.
func (u *Upload) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if u.client == nil || u.session == "" && !u.made {
		return
	}
	m := library.NewManager(u.client)
	if u.session != "" {
		_ = m.CancelLibraryItemUpdateSession(ctx, u.session) // otherwise it expires
	}
	if !u.made {
		return
	}
	// An item with all files is complete: another client has continued the upload.
	if files, err := m.ListLibraryItemFiles(ctx, u.item); err != nil || u.complete(files) {
		return
	}
	if err := m.DeleteLibraryItem(ctx, &library.Item{ID: u.item}); err != nil {
		u.Say("item %q remains without content: %v", u.Item, explain(err))
	}
}
