// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25"
)

// ErrInstanceUUIDMismatch is returned when a different vCenter responds at the URL. Only the request
// for its identity was sent to it.
var ErrInstanceUUIDMismatch = errors.New("a different vCenter responds at the URL")

// Info describes the current login.
type Info struct {
	// Version is the product version, APIVersion the version of the SOAP API.
	Version, APIVersion string
	// InstanceUUID is the instance UUID of the vCenter.
	InstanceUUID string
	// User is the name that logged in, LoggedIn is the time of the login.
	User     string
	LoggedIn time.Time
}

func infoOf(c *vim25.Client, user string) Info {
	about := c.ServiceContent.About
	return Info{Version: about.Version, APIVersion: about.ApiVersion, InstanceUUID: about.InstanceUuid, User: user, LoggedIn: time.Now()}
}

// Info describes the last SOAP login. It is zero before the first login.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// checkInstallation returns an error if the instance UUID is not the one that Options.InstanceUUID requires.
func (s *Session) checkInstallation(c *vim25.Client) error {
	if s.opts.InstanceUUID == nil {
		return nil
	}
	want := *s.opts.InstanceUUID
	if want == "" {
		want = s.Info().InstanceUUID
	}
	if got := c.ServiceContent.About.InstanceUuid; want != "" && got != want {
		return fmt.Errorf("%w: its instance UUID is %s, expected %s", ErrInstanceUUIDMismatch, got, want)
	}
	return nil
}
