// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vim25/soap"
)

// StatusError is returned when vCenter responds to a request outside its APIs with a status other than
// 200.
type StatusError struct {
	// StatusCode is the HTTP status.
	StatusCode int
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("vCenter responded with HTTP status %d %s", e.StatusCode, http.StatusText(e.StatusCode))
}

// Download reads a path that vCenter serves outside its APIs to clients with a SOAP session.
// Options.CallTimeout limits the request. Download returns an error if the response is larger than
// maxBytes. If the session has ended, Download logs in and tries once more.
func (s *Session) Download(ctx context.Context, path string, query url.Values, maxBytes int64) ([]byte, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	for try := 0; ; try++ {
		if _, err := s.Vim(ctx); err != nil {
			return nil, err
		}
		seenLogin := s.loginNumber()
		data, status, err := s.fetch(ctx, path, query, maxBytes)
		if err != nil || status == http.StatusOK {
			return data, err
		}
		if status != http.StatusUnauthorized || try > 0 {
			return nil, &StatusError{StatusCode: status}
		}
		if err := s.login(ctx, seenLogin); err != nil {
			return nil, fmt.Errorf("the session with vCenter has ended: %w", err)
		}
	}
}

func (s *Session) fetch(ctx context.Context, path string, query url.Values, maxBytes int64) ([]byte, int, error) {
	if s.opts.OnCall != nil {
		s.opts.OnCall("Fetch " + path)
	}
	u := *s.url
	u.Path, u.RawQuery = path, query.Encode()
	param := soap.DefaultDownload
	res, err := s.soap.DownloadRequest(ctx, &u, &param)
	if err != nil {
		if ctx.Err() == nil {
			_ = s.recordOutcome(err)
		}
		return nil, 0, err
	}
	_ = s.recordOutcome(nil)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, res.StatusCode, nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err == nil && int64(len(data)) > maxBytes {
		err = fmt.Errorf("the response of vCenter is larger than %d bytes", maxBytes)
	}
	return data, res.StatusCode, err
}
