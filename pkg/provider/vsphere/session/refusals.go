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
	// refusalWindow is how long a refused login counts. The default lockout policy of
	// vCenter Single Sign-On counts for 180 seconds as well, over all of its APIs.
	refusalWindow = 3 * time.Minute
	// maxRefusals is how many logins may be refused in refusalWindow. The policy locks
	// the account at five; two are left to people who use the same account.
	maxRefusals = 3
)

// refusals keep a wrong password from locking the account: the same credentials are
// not sent again for refusalWindow, and other ones at once as long as fewer than
// maxRefusals logins were refused, or are still without an answer, in that time.
type refusals struct {
	mu       sync.Mutex
	attempts []*attempt
}

// attempt is a login that was refused, or that is under way while err is nil.
type attempt struct {
	credentials [sha256.Size]byte
	at          time.Time
	err         error
}

// begin allows a login, which must be ended, or says why it must not be sent.
func (r *refusals) begin(user, password string) (*attempt, error) {
	a := &attempt{credentials: sha256.Sum256([]byte(user + "\x00" + password))}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = slices.DeleteFunc(r.attempts, func(old *attempt) bool {
		return old.err != nil && time.Since(old.at) >= refusalWindow
	})
	for _, old := range r.attempts {
		if old.err != nil && old.credentials == a.credentials {
			return nil, old.err
		}
	}
	if len(r.attempts) >= maxRefusals {
		return nil, r.exhausted()
	}
	r.attempts = append(r.attempts, a)
	return a, nil
}

// exhausted says how long no credentials are sent at all. mu is held.
func (r *refusals) exhausted() error {
	var last *attempt
	wait := refusalWindow
	for _, a := range r.attempts {
		if a.err != nil {
			last = a
			wait = min(wait, refusalWindow-time.Since(a.at))
		}
	}
	err := fmt.Errorf("not logging in to vCenter for %s, for %d refused logins in %s could lock the account", wait.Round(time.Second), maxRefusals, refusalWindow)
	if last != nil {
		err = fmt.Errorf("%w; the last one: %w", err, last.err)
	}
	return err
}

// end says how the login ended. A login that succeeded clears what was refused of the
// same credentials; one without an answer does not count.
func (r *refusals) end(a *attempt, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && vimfault.KindOf(err) == vimfault.Denied {
		a.at, a.err = time.Now(), err
		return
	}
	r.attempts = slices.DeleteFunc(r.attempts, func(old *attempt) bool {
		return old == a || err == nil && old.err != nil && old.credentials == a.credentials
	})
}
