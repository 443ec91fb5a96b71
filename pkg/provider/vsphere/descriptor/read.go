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
	// maxKnown is the maximum number of cached images.
	maxKnown = 256
	// readTimeout limits the reading of a descriptor. A subscribed library may have to download it first.
	readTimeout = 2 * time.Minute
	// versionAge is how long the content version of an item is used without another request. Many simultaneous
	// deployments share one request.
	versionAge = time.Second
)

// Reader reads descriptors of one vCenter. The zero value is ready for use.
type Reader struct {
	flights singleflight.Group
	mu      sync.Mutex
	known   map[string]versioned
}

// versioned is an image with its content version and the time when that version was read.
type versioned struct {
	version string
	image   *Image
	at      time.Time
}

// Read returns the descriptor of a library item. The content version is at most a second old. The error is an
// UnusableError if no virtual machine can be created from the descriptor.
func (r *Reader) Read(ctx context.Context, s *session.Session, item string) (*Image, error) {
	return r.read(ctx, item, time.Now().Add(-versionAge),
		func(ctx context.Context) (string, error) { return contentVersion(ctx, s, item) },
		func(ctx context.Context) (*Image, error) { return fetch(ctx, s, item) })
}

// ReadCurrent is like Read, but it always requests the current content version.
func (r *Reader) ReadCurrent(ctx context.Context, s *session.Session, item string) (*Image, error) {
	now := time.Now()
	r.flights.Forget(item) // An earlier request may have read an older version.
	return r.read(ctx, item, now,
		func(ctx context.Context) (string, error) { return contentVersion(ctx, s, item) },
		func(ctx context.Context) (*Image, error) { return fetch(ctx, s, item) })
}

// read returns the image. It requests the content version unless that was read after since.
func (r *Reader) read(ctx context.Context, item string, since time.Time, version func(context.Context) (string, error), fetch func(context.Context) (*Image, error)) (*Image, error) {
	if v := r.cached(item); v.image != nil && v.at.After(since) {
		return v.image, nil
	}
	flight := r.flights.DoChan(item, func() (any, error) {
		// Other callers may wait for the same request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		next := versioned{at: time.Now()}
		var err error
		if next.version, err = version(ctx); err != nil {
			return nil, fmt.Errorf("reading library item %s: %w", item, err)
		}
		if last := r.cached(item); last.version == next.version {
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

func (r *Reader) cached(item string) versioned {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[item]
}

// remember adds an entry to the cache. It removes an arbitrary other entry if the cache is full.
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

// fetch downloads the descriptor in a download session and deletes the session afterwards.
func fetch(ctx context.Context, s *session.Session, item string) (*Image, error) {
	var image *Image
	err := s.WithLongREST(ctx, "rest.DownloadLibraryItem", func(ctx context.Context, c *rest.Client) error {
		m := library.NewManager(c)
		files, err := m.ListLibraryItemFiles(ctx, item)
		if err != nil {
			return fmt.Errorf("listing the files: %w", err)
		}
		name := ""
		for _, f := range files {
			if strings.EqualFold(path.Ext(f.Name), ".ovf") {
				name = f.Name
			}
		}
		if name == "" {
			return &UnusableError{Message: "the item has no .ovf file"}
		}
		download, err := m.CreateLibraryItemDownloadSession(ctx, library.Session{LibraryItemID: item})
		if err != nil {
			return fmt.Errorf("starting the download of %s: %w", name, err)
		}
		// Otherwise the session expires after an hour.
		defer func() { _ = m.DeleteLibraryItemDownloadSession(context.WithoutCancel(ctx), download) }()
		if image, err = get(ctx, c, m, download, name); err != nil {
			return err
		}
		return image.checkFiles(files)
	})
	return image, err
}

// checkFiles returns an error if the item does not have a file that the descriptor refers to. A failed import can leave
// such an item. A file that a subscribed library has not downloaded yet is listed.
func (i *Image) checkFiles(files []library.File) error {
	for _, r := range i.Hardware.References() {
		has := func(f library.File) bool {
			plain, err := url.PathUnescape(r.File)
			return path.Base(f.Name) == r.File || err == nil && path.Base(f.Name) == plain
		}
		if !slices.ContainsFunc(files, has) {
			return &UnusableError{Message: fmt.Sprintf("file %q of the OVF descriptor is missing in the library item: import the item again", r.File)}
		}
	}
	return nil
}

// get waits until the file is prepared and parses it.
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
		return nil, fmt.Errorf("parsing the download URL of %s: %w", name, err)
	}
	body, _, err := c.Download(ctx, u, &soap.DefaultDownload)
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w", name, err)
	}
	defer func() { _ = body.Close() }()
	return parse(body)
}
