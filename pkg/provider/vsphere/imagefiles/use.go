// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"fmt"
	"sync"
	"time"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// uses are the directories that virtual machines are being made of, and those that are being
// removed, none of which is both.
type uses struct {
	mu       sync.Mutex
	users    map[string]int
	removing map[string]bool
	last     map[string]time.Time
}

// Use keeps a directory from being removed until done is called, and notes that it was used.
// The error is a NotUsableError for one that is being removed already. It is called before
// the files are looked at.
func (f *Files) Use(directory string) (done func(), err error) {
	u := &f.uses
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removing[directory] {
		return nil, &provider.NotUsableError{Message: directory + " is being removed", Missing: true}
	}
	if u.users == nil {
		u.users, u.last = map[string]int{}, map[string]time.Time{}
	}
	u.users[directory]++
	u.last[directory] = time.Now()
	return sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.users[directory]--; u.users[directory] == 0 {
			delete(u.users, directory)
		}
	}), nil
}

// LastUsed implements provider.ImageFiles.
func (f *Files) LastUsed(directory string) time.Time {
	f.uses.mu.Lock()
	defer f.uses.mu.Unlock()
	return f.uses.last[directory]
}

// of names who makes virtual machines of directories.
func (u *uses) of(directories []string) map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[string]string{}
	for _, dir := range directories {
		if n := u.users[dir]; n > 0 {
			out[dir] = fmt.Sprintf("%d virtual machines that are being made", n)
		}
	}
	return out
}

// retire keeps a directory from being used until done is called.
func (u *uses) retire(directory string) (done func(removed bool), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.users[directory]; n > 0 {
		return nil, &provider.ImageInUseError{By: fmt.Sprintf("%d virtual machines that are being made", n)}
	}
	if u.removing == nil {
		u.removing = map[string]bool{}
	}
	if u.removing[directory] {
		return nil, fmt.Errorf("removing %s: it is being removed already", directory)
	}
	u.removing[directory] = true
	return func(removed bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.removing, directory)
		if removed {
			delete(u.last, directory)
		}
	}, nil
}
