// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// item is a library item that counts its requests.
type item struct {
	mu                       sync.Mutex
	content                  string
	err                      error
	versionRequests, fetches int
}

func (i *item) version(context.Context) (string, error) {
	time.Sleep(time.Millisecond)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.versionRequests++
	return i.content, i.err
}

func (i *item) fetch(context.Context) (*Image, error) {
	time.Sleep(time.Millisecond)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fetches++
	return &Image{}, nil
}

func (i *item) read(t *testing.T, r *Reader) *Image {
	t.Helper()
	image, err := r.read(t.Context(), "item", time.Now().Add(-versionAge), i.version, i.fetch)
	if err != nil {
		t.Error(err)
	}
	return image
}

func (i *item) expect(t *testing.T, when string, versionRequests, fetches int) {
	t.Helper()
	if i.versionRequests != versionRequests || i.fetches != fetches {
		t.Errorf("%s: %d version requests and %d downloads, want %d and %d", when, i.versionRequests, i.fetches, versionRequests, fetches)
	}
}

func TestRead_SharesOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Reader
		i := &item{content: "1"}
		for range 5 {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { i.read(t, &r) })
			}
			wg.Wait()
			time.Sleep(versionAge / 10)
		}
		i.expect(t, "100 deployments within a second", 1, 1)
	})
}

func TestRead_ReadsAReplacedImageAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Reader
		i := &item{content: "1"}
		first := i.read(t, &r)
		time.Sleep(versionAge)
		if i.read(t, &r) != first {
			t.Error("an unchanged image was read again")
		}
		i.expect(t, "a second later", 2, 1)
		i.content = "2"
		time.Sleep(versionAge)
		if i.read(t, &r) == first {
			t.Error("a replaced image was not read again")
		}
		i.expect(t, "after a change", 3, 2)
	})
}

func TestReadCurrent_RequestsTheCurrentVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Reader
		i := &item{content: "1"}
		i.read(t, &r)
		i.content = "2"
		image, err := r.read(t.Context(), "item", time.Now(), i.version, i.fetch)
		if err != nil || image.Version != "2" {
			t.Errorf("%+v, %v; want version 2", image, err)
		}
		i.expect(t, "a moment later", 2, 2)
	})
}

func TestRead_DoesNotCacheErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Reader
		i := &item{content: "1", err: errors.New("vapi-endpoint is starting")}
		if _, err := r.read(t.Context(), "item", time.Now().Add(-versionAge), i.version, i.fetch); !errors.Is(err, i.err) {
			t.Errorf("reading = %v, want %v", err, i.err)
		}
		i.err = nil
		i.read(t, &r)
		i.expect(t, "after a failure", 2, 1)
	})
}
