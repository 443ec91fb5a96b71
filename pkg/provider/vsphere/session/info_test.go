// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
)

func TestInfo_DescribesTheLogin(t *testing.T) {
	srv := startServer(t)
	s := srv.open(t, nil)
	if got := s.Info(); got != (Info{}) {
		t.Errorf("before the login: %+v", got)
	}
	if _, err := s.Vim(t.Context()); err != nil {
		t.Fatal(err)
	}
	about := srv.about().Content.About
	got := s.Info()
	if got.Version != about.Version || got.APIVersion != about.ApiVersion || got.InstanceUUID != about.InstanceUuid || got.User != "user" || got.LoggedIn.IsZero() {
		t.Errorf("after the login: %+v, want the values of vCenter: %+v", got, about)
	}
}

// about returns the server's AboutInfo.
func (s *server) about() *simulator.ServiceInstance {
	return s.model.Map().Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
}

func TestInstallation_PreventsALoginToAnotherVCenter(t *testing.T) {
	srv := startServer(t)
	open := func(meant *string) (*Session, *[]string) {
		var sent []string
		return srv.open(t, func(o *Options) {
			o.InstanceUUID, o.OnCall = meant, func(method string) { sent = append(sent, method) }
		}), &sent
	}
	refused := func(s *Session, sent []string, when string) {
		t.Helper()
		if _, err := s.Vim(t.Context()); !errors.Is(err, ErrInstanceUUIDMismatch) {
			t.Errorf("%s: error %v", when, err)
		}
		if slices.Contains(sent, "Login") {
			t.Errorf("%s: sent %v", when, sent)
		}
	}
	other, first := uuid.NewString(), ""
	s, sent := open(&other)
	refused(s, *sent, "another instance UUID is required")
	same := srv.about().Content.About.InstanceUuid
	if s, _ := open(&same); s.vimClient() == nil {
		if _, err := s.Vim(t.Context()); err != nil {
			t.Errorf("the required vCenter: %v", err)
		}
	}

	// Another vCenter replaces the first one.
	s, sent = open(&first)
	c, err := s.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv.terminate(t)
	srv.about().Content.About.InstanceUuid = other
	*sent = nil
	if _, err := methods.GetCurrentTime(t.Context(), c); !errors.Is(err, ErrInstanceUUIDMismatch) {
		t.Errorf("a call after the replacement: %v", err)
	}
	if slices.Contains(*sent, "Login") {
		t.Errorf("after the replacement %v was sent", *sent)
	}
	srv.about().Content.About.InstanceUuid = same
	if _, err := methods.GetCurrentTime(t.Context(), c); err != nil {
		t.Errorf("a call after the first vCenter is back: %v", err)
	}
}
