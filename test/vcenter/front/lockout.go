// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"sync"
	"time"
)

// Lockout policy of vCenter Single Sign-On as installed (VMware Cloud Foundation,
// Configure the Account Lockout Policy for vCenter Single Sign-On, default values).
const (
	maxFailures     = 5
	failureInterval = 180 * time.Second
	unlockTime      = 900 * time.Second
)

// Lockout locks accounts after too many failed logins over SOAP and REST together, because both are logins of one
// account. It does nothing until it is enabled.
//
// vCenter never locks its administrator@vsphere.local. Here every account is treated as an ordinary account.
type Lockout struct {
	// Now is the clock. If it is nil, the system's clock is used.
	Now func() time.Time

	mu       sync.Mutex
	enabled  bool
	attempts int
	failures map[string][]time.Time
	locked   map[string]time.Time // since
}

// LockoutState is the login state that an administrator sees.
type LockoutState struct {
	Enabled bool `json:"enabled"`
	// Attempts are the logins of all accounts since the start, successful or not.
	Attempts int `json:"attempts"`
	// Failures are the failures that count, by account.
	Failures map[string]int `json:"failures"`
	// Locked are the locked accounts.
	Locked []string `json:"locked"`
}

// Enable turns the policy on or off, and unlocks all accounts.
func (l *Lockout) Enable(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enabled, l.failures, l.locked = on, map[string][]time.Time{}, map[string]time.Time{}
}

func (l *Lockout) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// Admit processes a login and reports whether it succeeds. A locked account cannot log in, even with the right
// password.
func (l *Lockout) Admit(account string, right bool) bool {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	if !l.enabled {
		return right
	}
	if since, locked := l.locked[account]; locked {
		if now.Sub(since) < unlockTime {
			return false
		}
		delete(l.locked, account)
	}
	if right {
		delete(l.failures, account)
		return true
	}
	var counted []time.Time
	for _, at := range l.failures[account] {
		if now.Sub(at) < failureInterval {
			counted = append(counted, at)
		}
	}
	l.failures[account] = append(counted, now)
	if len(l.failures[account]) >= maxFailures {
		l.locked[account] = now
		delete(l.failures, account)
	}
	return false
}

// State returns the login state of accounts.
func (l *Lockout) State() LockoutState {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LockoutState{Enabled: l.enabled, Attempts: l.attempts, Failures: map[string]int{}, Locked: []string{}}
	for account, failures := range l.failures {
		s.Failures[account] = len(failures)
	}
	for account, since := range l.locked {
		if now.Sub(since) < unlockTime {
			s.Locked = append(s.Locked, account)
		}
	}
	return s
}
