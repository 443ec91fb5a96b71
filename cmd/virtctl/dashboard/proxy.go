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

// maxBody is the largest body of a request, in bytes: it says a mode and a dry run.
const maxBody = 4096

// forwarded are the headers of a request, and returned those of an answer, that are passed on.
var (
	forwarded = []string{"Accept", "Content-Type"}
	returned  = []string{"Audit-Id", "Content-Type", "Retry-After", "Warning"}
)

// proxy passes requests on to the API server, with the credentials of the kubeconfig.
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
		FlushInterval:  -1, // watches are told at once
		ModifyResponse: plain,
		ErrorHandler:   unreached,
		// The page says what fails; what a browser breaks off is no error.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return p, nil
}

// serve passes a request on, if it is one that can be.
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

// readBody reads a body that is small; only a call has one.
func readBody(w http.ResponseWriter, r *http.Request, calls bool) ([]byte, error) {
	limit := int64(0)
	if calls {
		limit = maxBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, errors.New("the body has more than " + strconv.FormatInt(limit, 10) + " bytes, or ended early")
	}
	return body, nil
}

// pick returns the named headers of h alone.
func pick(h http.Header, names []string) http.Header {
	out := http.Header{"User-Agent": {"virtctl-dashboard"}}
	for _, name := range names {
		if values := h.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// plain leaves of an answer what the page needs, and takes none that leads elsewhere.
func plain(r *http.Response) error {
	if r.StatusCode < http.StatusOK || r.StatusCode >= http.StatusMultipleChoices && r.StatusCode < http.StatusBadRequest {
		return fmt.Errorf("the API server answered with %s", r.Status)
	}
	header := pick(r.Header, returned)
	header.Del("User-Agent")
	r.Header = header
	return nil
}

// unreached answers for an API server that did not, or not as one does.
func unreached(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the browser does not wait any more
	}
	refuse(w, http.StatusBadGateway, "asking the API server: "+err.Error())
}
