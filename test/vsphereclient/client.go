// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphereclient gives tests access to a vCenter independent of the product: with a session of their own and a
// verified certificate. It also sends commands to a simulated vCenter.
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

// UserAgent distinguishes the sessions of tests from those of the product.
const UserAgent = "slipway-test"

// Login opens a session at the SDK of address. The caller logs out. Only the certificates of caFile are trusted.
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
