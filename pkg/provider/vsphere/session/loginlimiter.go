// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

const (
	// refusalWindow is how long a refused login counts. The default lockout policy of vCenter
	// Single Sign-On also counts for 180 seconds, over all APIs.
	refusalWindow = 3 * time.Minute
	// maxRefusals is the number of logins that may be refused in refusalWindow. The lockout policy
	// locks the account at five. Two attempts remain for users of the same account.
	maxRefusals = 3
)

// loginLimiter prevents a wrong password from locking the account. Refused credentials are not sent
// again during refusalWindow. Other credentials are sent if fewer than maxRefusals logins were
// refused, or are unanswered, in that time.
type loginLimiter struct {
	mu       sync.Mutex
	attempts []*loginAttempt
}

// loginAttempt is a refused login, or a login that is in progress if err is nil.
type loginAttempt struct {
	credentials [sha256.Size]byte
	at          time.Time
	err         error
}

// begin registers a login, which the caller must end. It returns an error if the login must not be
// sent.
func (r *loginLimiter) begin(user, password string) (*loginAttempt, error) {
	a := &loginAttempt{credentials: sha256.Sum256([]byte(user + "\x00" + password))}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = slices.DeleteFunc(r.attempts, func(old *loginAttempt) bool {
		return old.err != nil && time.Since(old.at) >= refusalWindow
	})
	for _, old := range r.attempts {
		if old.err != nil && old.credentials == a.credentials {
			return nil, old.err
		}
	}
	if len(r.attempts) >= maxRefusals {
		return nil, r.limitError()
	}
	r.attempts = append(r.attempts, a)
	return a, nil
}

// limitError returns the error for the time in which no login is allowed. The caller holds mu.
func (r *loginLimiter) limitError() error {
	var last *loginAttempt
	wait := refusalWindow
	for _, a := range r.attempts {
		if a.err != nil {
			last = a
			wait = min(wait, refusalWindow-time.Since(a.at))
		}
	}
	err := fmt.Errorf("not logging in to vCenter for %s, because %d refused logins in %s could lock the account", wait.Round(time.Second), maxRefusals, refusalWindow)
	if last != nil {
		err = fmt.Errorf("%w; the last one: %w", err, last.err)
	}
	return err
}

// end records the result of a login. A successful login clears refusals of the same credentials. A
// login without a response does not count.
func (r *loginLimiter) end(a *loginAttempt, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && vimfault.KindOf(err) == vimfault.Denied {
		a.at, a.err = time.Now(), err
		return
	}
	r.attempts = slices.DeleteFunc(r.attempts, func(old *loginAttempt) bool {
		return old == a || err == nil && old.err != nil && old.credentials == a.credentials
	})
}
