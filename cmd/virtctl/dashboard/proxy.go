// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// maxBody is the maximum size of a request body, in bytes. Bodies contain only a mode and dryRun.
const maxBody = 4096

// forwarded are the request headers that are forwarded, returned the response headers.
var (
	forwarded = []string{"Accept", "Content-Type"}
	returned  = []string{"Audit-Id", "Content-Type", "Retry-After", "Warning"}
)

// proxy forwards requests to the API server with the credentials of the kubeconfig.
type proxy struct {
	base    *url.URL
	forward *httputil.ReverseProxy
}

func newProxy(config *rest.Config) (*proxy, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a connection by the kubeconfig: %w", err)
	}
	p := &proxy{base: base}
	p.forward = &httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.Out.Header = pick(r.In.Header, forwarded) },
		FlushInterval:  -1, // flush watch events immediately
		ModifyResponse: plain,
		ErrorHandler:   unreached,
		// The page shows failures; a cancelled request is no error.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return p, nil
}

// serve forwards a request if it is allowed.
func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	to, err := routeOf(r.Method, r.URL)
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	body, err := readBody(w, r, to.calls)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	out := r.Clone(r.Context())
	out.URL = &url.URL{
		Scheme: p.base.Scheme, Host: p.base.Host,
		Path: strings.TrimSuffix(p.base.Path, "/") + to.path, RawQuery: to.query.Encode(),
	}
	out.Host = p.base.Host
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	w.Header().Set("Cache-Control", "no-store")
	p.forward.ServeHTTP(w, out)
}

// readBody reads a small body. Only a call has one.
func readBody(w http.ResponseWriter, r *http.Request, calls bool) ([]byte, error) {
	limit := int64(0)
	if calls {
		limit = maxBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, errors.New("the body exceeds " + strconv.FormatInt(limit, 10) + " bytes or is truncated")
	}
	return body, nil
}

// pick returns the given headers of h.
func pick(h http.Header, names []string) http.Header {
	out := http.Header{"User-Agent": {"virtctl-dashboard"}}
	for _, name := range names {
		if values := h.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// plain removes from a response what the page does not need, and rejects redirects.
func plain(r *http.Response) error {
	if r.StatusCode < http.StatusOK || r.StatusCode >= http.StatusMultipleChoices && r.StatusCode < http.StatusBadRequest {
		return fmt.Errorf("the API server returned %s", r.Status)
	}
	header := pick(r.Header, returned)
	header.Del("User-Agent")
	r.Header = header
	return nil
}

// unreached responds if the API server did not respond or responded incorrectly.
func unreached(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the browser has disconnected
	}
	refuse(w, http.StatusBadGateway, "requesting the API server: "+err.Error())
}
