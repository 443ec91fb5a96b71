// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25"
)

// ErrOtherInstallation means that another vCenter answers at the URL than was meant.
// Nothing but the question what it is was sent to it.
var ErrOtherInstallation = errors.New("another vCenter answers than the one before")

// Info tells of the present login.
type Info struct {
	// Version of the product, and of its API.
	Version, APIVersion string
	// Installation is the instance UUID of the vCenter.
	Installation string
	// User is who logged in, LoggedIn is when.
	User     string
	LoggedIn time.Time
}

func infoOf(c *vim25.Client, user string) Info {
	about := c.ServiceContent.About
	return Info{Version: about.Version, APIVersion: about.ApiVersion, Installation: about.InstanceUuid, User: user, LoggedIn: time.Now()}
}

// Info tells of the last login over SOAP; it is zero before the first.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// isMeant returns an error for another installation than Options.Installation says.
func (s *Session) isMeant(c *vim25.Client) error {
	if s.opts.Installation == nil {
		return nil
	}
	want := *s.opts.Installation
	if want == "" {
		want = s.Info().Installation
	}
	if got := c.ServiceContent.About.InstanceUuid; want != "" && got != want {
		return fmt.Errorf("%w: its instance UUID is %s and not %s", ErrOtherInstallation, got, want)
	}
	return nil
}
