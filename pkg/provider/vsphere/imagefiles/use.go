// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"fmt"
	"sync"
	"time"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// uses are the directories from which virtual machines are being created, and those that are being removed. A
// directory is never both.
type uses struct {
	mu       sync.Mutex
	users    map[string]int
	removing map[string]bool
	last     map[string]time.Time
}

// Use prevents the removal of a directory until done is called, and records its use. It returns a NotUsableError if
// the directory is being removed. It must be called before the files are checked.
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

// of returns descriptions of the users of directories.
func (u *uses) of(directories []string) map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[string]string{}
	for _, dir := range directories {
		if n := u.users[dir]; n > 0 {
			out[dir] = fmt.Sprintf("%d virtual machines that are being created", n)
		}
	}
	return out
}

// retire prevents the use of a directory until done is called.
func (u *uses) retire(directory string) (done func(removed bool), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.users[directory]; n > 0 {
		return nil, &provider.ImageInUseError{By: fmt.Sprintf("%d virtual machines that are being created", n)}
	}
	if u.removing == nil {
		u.removing = map[string]bool{}
	}
	if u.removing[directory] {
		return nil, fmt.Errorf("removing %s: the directory is already being removed", directory)
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
