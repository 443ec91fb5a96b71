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

// Session describes the cluster and the user for the page.
type Session struct {
	// Server is the address of the API server.
	Server string `json:"server"`
	// Context is the name of the context of the kubeconfig.
	Context string `json:"context,omitempty"`
	// User is the name of the user according to the API server, empty if unknown.
	User string `json:"user,omitempty"`
	// Namespace is the namespace of the kubeconfig or of the command line.
	Namespace string `json:"namespace"`
	// OnlyNamespace limits the page to Namespace.
	OnlyNamespace bool `json:"onlyNamespace,omitempty"`
	// Version is the version of virtctl.
	Version string `json:"version,omitempty"`
}

// sessionPath is the path of the Session.
const sessionPath = "/session"

// Server is one run of the dashboard.
type Server struct {
	listener net.Listener
	handler  http.Handler
	token    string
}

// New listens on a loopback port, a free one if port is 0, and uses the credentials of config.
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

// URL returns the URL of the page with the token, which grants the permissions of the kubeconfig's user.
func (s *Server) URL() string {
	return fmt.Sprintf("http://%s/#token=%s", s.listener.Addr(), s.token)
}

// Serve serves until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // watches do not end on their own
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the dashboard: %w", err)
	}
	return nil
}

// newHandler serves files to all local clients, and everything else to clients with the token.
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
		// A write error means that the browser has disconnected.
		_ = json.NewEncoder(w).Encode(session)
	})
}
