// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vapi/library"

	"github.com/slipway-dev/slipway/cmd/virtctl/imagefile"
	"github.com/slipway-dev/slipway/cmd/virtctl/login"
)

// States of files.
const (
	fileReady = "READY"
	fileError = "ERROR"
)

const (
	// aliveInterval is how often a session is kept alive while a file is on its way: update
	// sessions expire after five minutes without activity (vSphere Automation API, keep-alive).
	aliveInterval = time.Minute
	// pollInterval is how often vCenter is asked whether it has ended what it does.
	pollInterval = time.Second
	// pollTimeout is how long that may take; it reads the files once more.
	pollTimeout = 15 * time.Minute
)

// transfer sends the files that the session does not have, and removes those that belong
// to another version.
func (u *Upload) transfer(ctx context.Context, m *library.Manager) error {
	have, err := m.ListLibraryItemUpdateSessionFile(ctx, u.session)
	if err != nil {
		return fmt.Errorf("listing what has arrived: %w", err)
	}
	known := map[string]library.UpdateFile{}
	for _, f := range have {
		known[f.Name] = f
	}
	u.arrived = 0
	for _, f := range u.Image.Files {
		if there, ok := known[f.Name]; ok && complete(&there, f) {
			u.Say("%s has arrived already", f.Name)
		} else if err := u.send(ctx, m, f); err != nil {
			return err
		}
		delete(known, f.Name)
		u.arrived += f.Size
		u.Sent(u.arrived)
	}
	for name := range known {
		if err := m.RemoveLibraryItemUpdateSessionFile(ctx, u.session, name); err != nil && status(err) != 404 {
			return fmt.Errorf("removing %s, which is not of this version: %w", name, err)
		}
	}
	return nil
}

// complete is true for a file that the session has received. One that it only took over
// from the item is of the version before.
func complete(there *library.UpdateFile, f *imagefile.File) bool {
	return there.SourceType == "PUSH" && there.Status == fileReady && there.Size == f.Size &&
		there.Checksum != nil && there.Checksum.Algorithm == f.Digest.Algorithm && strings.EqualFold(there.Checksum.Checksum, f.Digest.Hex)
}

// send sends one file, from its beginning: of a part that has arrived nothing can be used.
func (u *Upload) send(ctx context.Context, m *library.Manager, f *imagefile.File) error {
	info, err := m.AddLibraryItemFile(ctx, u.session, library.UpdateFile{
		Name: f.Name, SourceType: "PUSH", Size: f.Size, Checksum: &library.Checksum{Algorithm: f.Digest.Algorithm, Checksum: f.Digest.Hex},
	})
	if err != nil {
		return fmt.Errorf("announcing %s: %w", f.Name, err)
	}
	if info.UploadEndpoint == nil {
		return fmt.Errorf("vCenter does not say where to send %s", f.Name)
	}
	sent := u.put(ctx, m, info.UploadEndpoint.URI, f)
	var broken *url.Error
	if errors.As(sent, &broken) {
		return fmt.Errorf("sending %s: %w", f.Name, sent)
	}
	err = u.poll(ctx, f.Name, func() (bool, error) {
		there, err := m.GetLibraryItemUpdateSessionFile(ctx, u.session, f.Name)
		switch {
		case err != nil:
			return false, fmt.Errorf("asking whether %s has arrived: %w", f.Name, err)
		case there.Status == fileError:
			return false, &refusedError{fmt.Errorf("vCenter did not take %s%s", f.Name, said(there.ErrorMessage))}
		case sent != nil:
			return false, sent
		}
		return there.Status == fileReady, nil
	})
	return err
}

// put streams a file, and keeps the sessions alive meanwhile.
func (u *Upload) put(ctx context.Context, m *library.Manager, endpoint string, f *imagefile.File) error {
	to, err := url.Parse(endpoint)
	if err != nil || to.Scheme != "https" {
		return &refusedError{fmt.Errorf("vCenter says to send %s to %q, which is no https URL", f.Name, endpoint)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body := &counted{content: f.Reader(), sent: func(n int64) { u.Sent(u.arrived + n) }, closed: make(chan struct{})}
	go u.keepAlive(ctx, cancel, m, body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to.String(), body)
	if err != nil {
		return err
	}
	if req.ContentLength = f.Size; f.Size == 0 {
		req.Body = http.NoBody
	} else {
		defer func() {
			cancel(nil)
			<-body.closed // an answer may come before its end
		}()
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set(sessionHeader, u.client.SessionID())
	return u.client.Client.Do(ctx, req, func(res *http.Response) error {
		if res.StatusCode < 300 {
			return nil
		}
		return &statusError{code: res.StatusCode, err: fmt.Errorf("sending %s: vCenter answered %s", f.Name, res.Status)}
	})
}

// keepAlive ends an upload of which nothing has moved between two looks.
func (u *Upload) keepAlive(ctx context.Context, cancel context.CancelCauseFunc, m *library.Manager, body *counted) {
	ticker := time.NewTicker(aliveInterval)
	defer ticker.Stop()
	for last := int64(-1); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := body.n.Load()
		if now == last && now < body.content.Size() {
			cancel(fmt.Errorf("nothing was sent for %v", aliveInterval))
			return
		}
		last = now
		call, done := context.WithTimeout(ctx, login.CallTimeout)
		_ = m.KeepAliveLibraryItemUpdateSession(call, u.session) // the upload tells
		done()
	}
}

// poll asks until it is so.
func (u *Upload) poll(ctx context.Context, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

// counted tells how much was read of the content.
type counted struct {
	content *io.SectionReader
	n       atomic.Int64
	sent    func(int64)
	closed  chan struct{}
	once    sync.Once
}

// Close implements io.Closer: nothing is read from then on.
func (c *counted) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.content.Read(p)
	if n > 0 {
		c.sent(c.n.Add(int64(n)))
	}
	return n, err
}
