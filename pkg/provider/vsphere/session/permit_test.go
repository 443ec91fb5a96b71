// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// gate is a Permit for tests.
type gate struct {
	mu sync.Mutex
	// closed denies permission. checks is the number of checks that fail after a wait.
	closed bool
	checks int
	waits  int
}

func (g *gate) Check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.checks > 0 {
		g.checks--
		return errors.New("closed again")
	}
	return nil
}

func (g *gate) Wait(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits++
	if g.closed {
		return context.Canceled
	}
	return nil
}

func TestChanges_WaitForPermission(t *testing.T) {
	g := &gate{closed: true}
	var sent []string
	s := startServer(t).open(t, func(o *Options) {
		o.Permit, o.OnCall = g, func(method string) { sent = append(sent, method) }
	})
	c, err := s.Vim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := types.CreateFolder{This: c.ServiceContent.RootFolder, Name: "fenced"}
	if _, err := methods.CreateFolder(t.Context(), c, &folder); !errors.Is(err, context.Canceled) {
		t.Errorf("a folder was created without permission: %v", err)
	}
	deployed := false
	err = s.WithLongREST(t.Context(), "rest.DeployLibraryItem", func(context.Context, *rest.Client) error { deployed = true; return nil })
	if !errors.Is(err, context.Canceled) || deployed {
		t.Errorf("an item was deployed without permission: %v", err)
	}
	if slices.Contains(sent, "CreateFolder") {
		t.Errorf("sent %v", sent)
	}
	if _, err := methods.GetCurrentTime(t.Context(), c); err != nil {
		t.Errorf("a read needs permission: %v", err)
	}
	if err := s.WithREST(t.Context(), "rest.GetLibraryItem", func(context.Context, *rest.Client) error { return nil }); err != nil {
		t.Errorf("a read needs permission: %v", err)
	}

	// The permission ends while the call waits for a slot. The call must wait for permission again.
	g.closed, g.checks, g.waits = false, 2, 0
	if _, err := methods.CreateFolder(t.Context(), c, &folder); err != nil || g.waits != 3 {
		t.Errorf("after %d waits: %v; want a folder after 3 waits", g.waits, err)
	}
}

func TestChanges_IncludeUnknownMethods(t *testing.T) {
	for method, want := range map[string]bool{
		"PowerOnVM_Task": true, "ReconfigVM_Task": true, "ShutdownGuest": true, "UnregisterVM": true, "CancelTask": true,
		"CreateFolder": true, "CloneVM_Task": true, "SomethingNew": true, "rest.DeployLibraryItem": true, "rest.SomethingNew": true,
		"RetrievePropertiesEx": false, "WaitForUpdatesEx": false, "FindByUuid": false, "CurrentTime": false, "ModifyListView": false,
		"CreateFilter": false, "CreateContainerView": false, "rest.GetLibraryItem": false, "rest.DownloadLibraryItem": false,
	} {
		if got := isChange(method); got != want {
			t.Errorf("changes(%s) = %t, want %t", method, got, want)
		}
	}
}
