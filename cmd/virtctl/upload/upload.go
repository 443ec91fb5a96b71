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
	// attempts is how often an upload is begun again of which no further file arrives.
	attempts = 5
	// firstDelay and maxDelay are what is waited before.
	firstDelay, maxDelay = time.Second, 30 * time.Second
	// cleanUpTimeout bounds what is done about a failed upload.
	cleanUpTimeout = time.Minute
)

// Upload is an image on its way into a library. It is used once.
type Upload struct {
	// Server is where the library is.
	Server login.Server
	// Library and Item are the names of the library, which must be the only one, and of
	// the item.
	Library, Item string
	// Image has been verified: its files have digests.
	Image *imagefile.Image
	// Update replaces the content of an item that exists. Without it there must be none.
	Update bool
	// Sent is told how many bytes of the image have arrived; it may become less again.
	Sent func(bytes int64)
	// Say tells people what happens.
	Say func(format string, args ...any)

	client *rest.Client
	// library and item are those that were found or made.
	library, item string
	// made is true when this upload has made the item.
	made bool
	// session is what the files go to; completing is true once its end was asked for.
	session    string
	completing bool
	// arrived is how much of the image the session has.
	arrived int64
}

// Result is what an upload has made.
type Result struct {
	// Item is the ID of the item.
	Item string
	// ContentVersion is that of what was uploaded.
	ContentVersion string
}

// InterruptedError means that an upload can go on: the same one, begun again, sends what
// has not arrived yet.
type InterruptedError struct{ err error }

// Error implements error.
func (e *InterruptedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.err }

// Run uploads the image. The error is an InterruptedError where it is worthwhile to begin
// again.
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
		u.Say("%v: trying again in %v", explain(err), pause.Round(time.Second))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func backoff() wait.Backoff {
	return wait.Backoff{Duration: firstDelay, Factor: 2, Cap: maxDelay, Steps: attempts - 1}
}

// once goes on from wherever the last attempt, of this process or another, has come to.
func (u *Upload) once(ctx context.Context) (Result, error) {
	if err := u.login(ctx); err != nil {
		return Result{}, err
	}
	m := library.NewManager(u.client)
	if err := u.find(ctx, m); err != nil {
		return Result{}, err
	}
	if u.completing {
		return u.result(ctx, m, u.finish(ctx, m)) // whose answer was lost
	}
	if err := u.open(ctx, m); err != nil {
		return Result{}, err
	}
	if err := u.transfer(ctx, m); err != nil {
		return Result{}, err
	}
	return u.result(ctx, m, u.finish(ctx, m))
}

// finish lets vCenter look at what it has, and make it the content of the item.
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
	return u.poll(ctx, "the end of the upload", func() (bool, error) {
		session, err := m.GetLibraryItemUpdateSession(ctx, u.session)
		switch {
		case err != nil:
			return false, fmt.Errorf("waiting for the end of the upload: %w", err)
		case session.State == stateActive:
			return false, nil
		case session.State != stateDone:
			return false, fmt.Errorf("vCenter did not take the image: the update session is %s%s", session.State, said(session.ErrorMessage))
		}
		return true, nil
	})
}

// invalid is what vCenter does not like about the files.
func invalid(found *library.UpdateFileValidation) error {
	var errs []error
	for _, name := range found.MissingFiles {
		errs = append(errs, fmt.Errorf("file %s is missing", name))
	}
	for _, f := range found.InvalidFiles {
		errs = append(errs, fmt.Errorf("file %s is not valid: %s", f.Name, f.ErrorMessage.DefaultMessage))
	}
	return fmt.Errorf("vCenter does not take the image: %w", errors.Join(errs...))
}

func (u *Upload) result(ctx context.Context, m *library.Manager, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	// It would be deleted by itself, later.
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

// giveUp lets go of what others would have to wait for, or would take for an image.
func (u *Upload) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if u.client == nil || u.session == "" && !u.made {
		return
	}
	m := library.NewManager(u.client)
	if u.session != "" {
		_ = m.CancelLibraryItemUpdateSession(ctx, u.session) // it expires otherwise
	}
	if !u.made {
		return
	}
	// An item with all files is complete: another client has continued the upload.
	if files, err := m.ListLibraryItemFiles(ctx, u.item); err != nil || u.complete(files) {
		return
	}
	if err := m.DeleteLibraryItem(ctx, &library.Item{ID: u.item}); err != nil {
		u.Say("the item %q is left without its content: %v", u.Item, explain(err))
	}
}
