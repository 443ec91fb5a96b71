// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"

	"github.com/slipway-dev/slipway/cmd/virtctl/login"
)

// sessionHeader is the HTTP header with vCenter's session ID.
const sessionHeader = "vmware-api-session-id"

// login ensures that an API session exists.
func (u *Upload) login(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, login.CallTimeout)
	defer cancel()
	if u.client != nil {
		// On an error, the login below fails as well and reports it.
		if s, err := u.client.Session(ctx); err == nil && s != nil {
			return nil
		}
	}
	client := u.client
	if client == nil {
		transport, err := u.Server.Transport()
		if err != nil {
			return err
		}
		client = rest.NewClient(&vim25.Client{Client: transport})
	}
	if err := client.Login(ctx, u.Server.User); err != nil {
		if status(err) == 401 {
			return &refusedError{fmt.Errorf("vCenter %s rejected the login of %s: wrong user name or password", u.Server.URL.Host, u.Server.User.Username())}
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
		_ = u.client.Logout(ctx) // otherwise the session expires
	}
}
