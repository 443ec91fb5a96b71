// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/soap"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

const (
	// maxKnown bounds what is remembered: the images that are in use at a time.
	maxKnown = 256
	// readTimeout bounds the reading of one descriptor, for which a subscribed library
	// may have to fetch it first.
	readTimeout = 2 * time.Minute
	// versionAge is how long the version of an item's content counts without another
	// look: many deployments at once need one look, and who has just replaced an image is
	// not that fast with the next VM.
	versionAge = time.Second
)

// Reader reads descriptors. The zero value is ready for use, with one vCenter.
type Reader struct {
	flights singleflight.Group
	mu      sync.Mutex
	known   map[string]versioned
}

// versioned is an image with the version of the content that it is of, and when that
// version was looked up.
type versioned struct {
	version string
	image   *Image
	at      time.Time
}

// Read returns what the descriptor of the library item says, as of the item's content a
// second ago or later. The error is an UnusableError when nothing can be made from it.
func (r *Reader) Read(ctx context.Context, s *session.Session, item string) (*Image, error) {
	return r.read(ctx, item, time.Now().Add(-versionAge),
		func(ctx context.Context) (string, error) { return contentVersion(ctx, s, item) },
		func(ctx context.Context) (*Image, error) { return fetch(ctx, s, item) })
}

// Now is Read as of the item's content now: what was looked up before does not count.
func (r *Reader) Now(ctx context.Context, s *session.Session, item string) (*Image, error) {
	now := time.Now()
	r.flights.Forget(item) // whose look may have been before
	return r.read(ctx, item, now,
		func(ctx context.Context) (string, error) { return contentVersion(ctx, s, item) },
		func(ctx context.Context) (*Image, error) { return fetch(ctx, s, item) })
}

// read looks for the version of the content, unless that was done since a time.
func (r *Reader) read(ctx context.Context, item string, since time.Time, version func(context.Context) (string, error), fetch func(context.Context) (*Image, error)) (*Image, error) {
	if v := r.remembered(item); v.image != nil && v.at.After(since) {
		return v.image, nil
	}
	flight := r.flights.DoChan(item, func() (any, error) {
		// Others may wait for it too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		next := versioned{at: time.Now()}
		var err error
		if next.version, err = version(ctx); err != nil {
			return nil, fmt.Errorf("reading library item %s: %w", item, err)
		}
		if last := r.remembered(item); last.version == next.version {
			next.image = last.image
		}
		if next.image == nil {
			if next.image, err = fetch(ctx); err != nil {
				return nil, fmt.Errorf("reading the OVF descriptor of library item %s: %w", item, err)
			}
			next.image.Version = next.version
		}
		r.remember(item, next)
		return next.image, nil
	})
	select {
	case res := <-flight:
		image, _ := res.Val.(*Image)
		return image, res.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *Reader) remembered(item string) versioned {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[item]
}

// remember forgets any other item when there is no room.
func (r *Reader) remember(item string, v versioned) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]versioned{}
	}
	for other := range r.known {
		if len(r.known) < maxKnown {
			break
		}
		delete(r.known, other)
	}
	r.known[item] = v
}

func contentVersion(ctx context.Context, s *session.Session, item string) (version string, err error) {
	err = s.WithREST(ctx, "rest.GetLibraryItem", func(ctx context.Context, c *rest.Client) error {
		info, err := library.NewManager(c).GetLibraryItem(ctx, item)
		if err == nil {
			version = info.ContentVersion
		}
		return err
	})
	return version, err
}

// fetch downloads the descriptor in a session of its own, which it ends.
func fetch(ctx context.Context, s *session.Session, item string) (*Image, error) {
	var image *Image
	err := s.WithLongREST(ctx, "rest.DownloadLibraryItem", func(ctx context.Context, c *rest.Client) error {
		m := library.NewManager(c)
		files, err := m.ListLibraryItemFiles(ctx, item)
		if err != nil {
			return fmt.Errorf("listing its files: %w", err)
		}
		name := ""
		for _, f := range files {
			if strings.EqualFold(path.Ext(f.Name), ".ovf") {
				name = f.Name
			}
		}
		if name == "" {
			return &UnusableError{Message: "it has no file *.ovf"}
		}
		download, err := m.CreateLibraryItemDownloadSession(ctx, library.Session{LibraryItemID: item})
		if err != nil {
			return fmt.Errorf("beginning to download %s: %w", name, err)
		}
		// Without it the session ends by itself, an hour later.
		defer func() { _ = m.DeleteLibraryItemDownloadSession(context.WithoutCancel(ctx), download) }()
		if image, err = get(ctx, c, m, download, name); err != nil {
			return err
		}
		return image.lacks(files)
	})
	return image, err
}

// lacks returns an error if the item does not have a file that the descriptor names, which an
// import that failed can leave. A file that a subscribed library has not fetched yet is listed.
func (i *Image) lacks(files []library.File) error {
	for _, r := range i.Hardware.References() {
		has := func(f library.File) bool {
			plain, err := url.PathUnescape(r.File)
			return path.Base(f.Name) == r.File || err == nil && path.Base(f.Name) == plain
		}
		if !slices.ContainsFunc(files, has) {
			return &UnusableError{Message: fmt.Sprintf("the OVF descriptor names file %q, which the item does not have: import it again", r.File)}
		}
	}
	return nil
}

// get waits until the file is prepared, and reads it.
func get(ctx context.Context, c *rest.Client, m *library.Manager, download, name string) (*Image, error) {
	file, err := m.PrepareLibraryItemDownloadSessionFile(ctx, download, name)
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", name, err)
	}
	pause := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 20, Cap: 5 * time.Second}
	for file.Status != "PREPARED" || file.DownloadEndpoint == nil {
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting until %s is prepared: %w", name, ctx.Err())
		}
		if file, err = m.GetLibraryItemDownloadSessionFile(ctx, download, name); err != nil {
			return nil, fmt.Errorf("waiting until %s is prepared: %w", name, err)
		}
	}
	u, err := url.Parse(file.DownloadEndpoint.URI)
	if err != nil {
		return nil, fmt.Errorf("where %s is downloaded from: %w", name, err)
	}
	body, _, err := c.Download(ctx, u, &soap.DefaultDownload)
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w", name, err)
	}
	defer func() { _ = body.Close() }()
	return parse(body)
}
