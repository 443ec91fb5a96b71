// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// CallTimeout is how long vCenter may take to respond to a request.
const CallTimeout = 2 * time.Minute

// Server is a vCenter and the credentials.
type Server struct {
	// URL is the address of vCenter. Its path is ignored.
	URL *url.URL
	// User holds the user name and the password.
	User *url.Userinfo
	// CAFile is a PEM file of trusted certificate authorities. Empty means those of the system.
	CAFile string
	// Thumbprint is the SHA-1 or SHA-256 of a certificate that is trusted regardless of its issuer.
	Thumbprint string
	// Insecure trusts every certificate.
	Insecure bool
}

// Transport returns a client that is not logged in.
func (s *Server) Transport() (*soap.Client, error) {
	u := *s.URL
	u.Path = vim25.Path
	transport := soap.NewClient(&u, s.Insecure)
	if s.CAFile != "" {
		if err := transport.SetRootCAs(s.CAFile); err != nil {
			return nil, fmt.Errorf("reading the certificates of authorities: %w", err)
		}
	}
	if s.Thumbprint != "" {
		transport.SetThumbprint(u.Host, s.Thumbprint)
	}
	transport.DefaultTransport().ResponseHeaderTimeout = CallTimeout
	return transport, nil
}

// Vim logs in to the inventory API. The caller must log out.
func (s *Server) Vim(ctx context.Context) (*govmomi.Client, error) {
	transport, err := s.Transport()
	if err != nil {
		return nil, err
	}
	vim, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, fmt.Errorf("connecting to vCenter %s: %w", s.URL.Host, err)
	}
	client := &govmomi.Client{Client: vim, SessionManager: session.NewManager(vim)}
	if err := client.Login(ctx, s.User); err != nil {
		return nil, fmt.Errorf("logging in to vCenter %s as %s: %w", s.URL.Host, s.User.Username(), err)
	}
	return client, nil
}
