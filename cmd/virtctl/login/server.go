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

// CallTimeout is how long vCenter may take to answer, once a request has been sent.
const CallTimeout = 2 * time.Minute

// Server is a vCenter, and who is logged in there.
type Server struct {
	// URL of vCenter; its path does not matter.
	URL *url.URL
	// User has the name and the password.
	User *url.Userinfo
	// CAFile has certificates of authorities that are trusted, in PEM; those of the system
	// when empty.
	CAFile string
	// Thumbprint is the SHA-1 or SHA-256 of the certificate that is trusted whoever signed it.
	Thumbprint string
	// Insecure trusts every certificate.
	Insecure bool
}

// Transport is a client of the server that is not logged in.
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

// Vim logs in to the API of the inventory; whoever calls it logs out.
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
