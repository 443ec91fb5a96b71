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
	// aliveInterval is the keep-alive interval during a transfer. Update sessions expire after five minutes without
	// activity (vSphere Automation API, keep-alive).
	aliveInterval = time.Minute
	// pollInterval is the time between two status requests to vCenter.
	pollInterval = time.Second
	// pollTimeout bounds the processing in vCenter, which reads the files again.
	pollTimeout = 15 * time.Minute
)

// transfer sends the files that the session lacks, and removes files of another version.
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
			u.Say("%s is already uploaded", f.Name)
		} else if err := u.send(ctx, m, f); err != nil {
			return err
		}
		delete(known, f.Name)
		u.arrived += f.Size
		u.Sent(u.arrived)
	}
	for name := range known {
		if err := m.RemoveLibraryItemUpdateSessionFile(ctx, u.session, name); err != nil && status(err) != 404 {
			return fmt.Errorf("removing %s of another version: %w", name, err)
		}
	}
	return nil
}

// complete reports whether the session has received a file. A file copied from the item belongs to the previous
// version.
func complete(there *library.UpdateFile, f *imagefile.File) bool {
	return there.SourceType == "PUSH" && there.Status == fileReady && there.Size == f.Size &&
		there.Checksum != nil && there.Checksum.Algorithm == f.Digest.Algorithm && strings.EqualFold(there.Checksum.Checksum, f.Digest.Hex)
}

// send sends a file from its start, because partial content cannot be resumed.
func (u *Upload) send(ctx context.Context, m *library.Manager, f *imagefile.File) error {
	info, err := m.AddLibraryItemFile(ctx, u.session, library.UpdateFile{
		Name: f.Name, SourceType: "PUSH", Size: f.Size, Checksum: &library.Checksum{Algorithm: f.Digest.Algorithm, Checksum: f.Digest.Hex},
	})
	if err != nil {
		return fmt.Errorf("announcing %s: %w", f.Name, err)
	}
	if info.UploadEndpoint == nil {
		return fmt.Errorf("vCenter returned no upload URL for %s", f.Name)
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
			return false, fmt.Errorf("checking the upload of %s: %w", f.Name, err)
		case there.Status == fileError:
			return false, &refusedError{fmt.Errorf("vCenter rejected %s%s", f.Name, said(there.ErrorMessage))}
		case sent != nil:
			return false, sent
		}
		return there.Status == fileReady, nil
	})
	return err
}

// put streams a file and keeps the sessions alive.
func (u *Upload) put(ctx context.Context, m *library.Manager, endpoint string, f *imagefile.File) error {
	to, err := url.Parse(endpoint)
	if err != nil || to.Scheme != "https" {
		return &refusedError{fmt.Errorf("vCenter returned the upload URL %[2]q for %[1]s, which is not an https URL", f.Name, endpoint)}
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
			<-body.closed // the response may arrive before the end of the body
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

// keepAlive cancels an upload that made no progress during an interval.
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
			cancel(fmt.Errorf("no data was sent for %v", aliveInterval))
			return
		}
		last = now
		call, done := context.WithTimeout(ctx, login.CallTimeout)
		_ = m.KeepAliveLibraryItemUpdateSession(call, u.session) // the upload itself reports errors
		done()
	}
}

// poll calls a function until it returns true.
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

// counted reports the number of bytes read.
type counted struct {
	content *io.SectionReader
	n       atomic.Int64
	sent    func(int64)
	closed  chan struct{}
	once    sync.Once
}

// Close implements io.Closer. Reads fail afterwards.
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
