// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphereclient is how tests look at a vCenter beside the product: with a
// session of their own, and the certificate verified; and how they give orders to a
// simulated one.
package vsphereclient

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// UserAgent tells the sessions of tests from those of the product.
const UserAgent = "slipway-test"

// Login opens a session at the SDK of address; whoever calls it logs out. The
// certificates of caFile are the only ones trusted.
func Login(ctx context.Context, address, caFile, user, password string) (*govmomi.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("address of the vCenter: %w", err)
	}
	transport := soap.NewClient(u, false)
	transport.UserAgent = UserAgent
	if _, err := os.Stat(caFile); err != nil {
		return nil, fmt.Errorf("certificate of the vCenter: %w", err)
	}
	if err := transport.SetRootCAs(caFile); err != nil {
		return nil, fmt.Errorf("certificate of the vCenter %s: %w", caFile, err)
	}
	vim, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, fmt.Errorf("connecting to the vCenter: %w", err)
	}
	client := &govmomi.Client{Client: vim, SessionManager: session.NewManager(vim)}
	if err := client.Login(ctx, url.UserPassword(user, password)); err != nil {
		return nil, fmt.Errorf("logging in to the vCenter: %w", err)
	}
	return client, nil
}
