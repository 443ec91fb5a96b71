// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Session is what the page says of where it is.
type Session struct {
	// Server is the address of the API server.
	Server string `json:"server"`
	// Context is the name of the context of the kubeconfig.
	Context string `json:"context,omitempty"`
	// User is who the API server takes the user for; empty if it does not tell.
	User string `json:"user,omitempty"`
	// Namespace is the one of the kubeconfig, or of the command line.
	Namespace string `json:"namespace"`
	// OnlyNamespace is true if no other is to be shown.
	OnlyNamespace bool `json:"onlyNamespace,omitempty"`
	// Version is that of virtctl.
	Version string `json:"version,omitempty"`
}

// sessionPath is where the page reads its Session.
const sessionPath = "/session"

// Server is one run of the dashboard.
type Server struct {
	listener net.Listener
	handler  http.Handler
	token    string
}

// New listens on loopback, at a free port if port is 0, with the credentials of config.
func New(config *rest.Config, port int, session Session) (*Server, error) {
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	api, err := newProxy(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return nil, fmt.Errorf("listening on loopback at port %d: %w", port, err)
	}
	token := NewToken()
	g := newGuard(listener.Addr().(*net.TCPAddr).Port, token)
	return &Server{listener: listener, handler: newHandler(g, files, api, session), token: token}, nil
}

// URL is where the page is. Who has it has what the user of the kubeconfig may do.
func (s *Server) URL() string {
	return fmt.Sprintf("http://%s/#token=%s", s.listener.Addr(), s.token)
}

// Serve serves until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // watches do not end by themselves
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the dashboard: %w", err)
	}
	return nil
}

// newHandler serves files to everybody at this machine, and the rest to who has the token.
func newHandler(g *guard, files assets, api *proxy, session Session) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.admit(w, r) {
			return
		}
		if r.URL.Path != sessionPath && !strings.HasPrefix(r.URL.Path, apiPrefix+"/") {
			files.serve(w, r)
			return
		}
		if !g.trusts(w, r) {
			return
		}
		if r.URL.Path != sessionPath {
			api.serve(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		// An error of writing means that the browser has gone.
		_ = json.NewEncoder(w).Encode(session)
	})
}
