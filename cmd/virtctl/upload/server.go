// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

const (
	// callTimeout is how long vCenter may take to answer, once a request has been sent.
	callTimeout = 2 * time.Minute
	// sessionHeader is what vCenter knows a login by.
	sessionHeader = "vmware-api-session-id"
)

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

// login makes sure that there is a session of the API.
func (u *Upload) login(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if u.client != nil {
		// An error is no session either, which the login will tell.
		if s, err := u.client.Session(ctx); err == nil && s != nil {
			return nil
		}
	}
	client := u.client
	if client == nil {
		transport := soap.NewClient(u.Server.URL, u.Server.Insecure)
		if u.Server.CAFile != "" {
			if err := transport.SetRootCAs(u.Server.CAFile); err != nil {
				return fmt.Errorf("reading the certificates of authorities: %w", err)
			}
		}
		if u.Server.Thumbprint != "" {
			transport.SetThumbprint(u.Server.URL.Host, u.Server.Thumbprint)
		}
		transport.DefaultTransport().ResponseHeaderTimeout = callTimeout
		client = rest.NewClient(&vim25.Client{Client: transport})
	}
	if err := client.Login(ctx, u.Server.User); err != nil {
		if status(err) == 401 {
			return &refusedError{fmt.Errorf("vCenter %s refuses the login of %s: user name or password are wrong", u.Server.URL.Host, u.Server.User.Username())}
		}
		return fmt.Errorf("logging in to vCenter %s: %w", u.Server.URL.Host, err)
	}
	u.client = client
	return nil
}

// Close logs out.
func (u *Upload) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if u.client != nil {
		_ = u.client.Logout(ctx) // the session ends by itself
	}
}
