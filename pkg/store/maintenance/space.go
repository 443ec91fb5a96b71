// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"syscall"
)

const (
	// MaxQuota is the largest quota that etcd recommends, in bytes.
	MaxQuota = 8 << 30
	// MinQuota is the smallest that leaves room to work in, in bytes.
	MinQuota = 64 << 20
	// minDefaultQuota is what a small file system gets all the same.
	minDefaultQuota = 256 << 20
	// besideData is what the write-ahead log and its preallocated files take of a file
	// system, in bytes.
	besideData = 512 << 20

	// noQuota is the quota of an etcd that does not report one.
	noQuota = 1 << 60
	// unknown is the free space of a file system that this process cannot see.
	unknown = -1

	// Thresholds in percent of the quota: the log and the readiness check report it; history is
	// compacted; no object can be created; users can change nothing except what is being deleted;
	// the server itself cannot either. At limitPercent etcd refuses all writes, also those that a
	// deletion needs.
	warnPercent     = 80
	pressPercent    = 90
	reservePercent  = 95
	fullPercent     = 100
	deletionPercent = 105
	limitPercent    = 110
	// gainPercent is what a defragmentation of a member that serves has to win, so that
	// it does not stand still for nothing, again and again; gainWhenFull is that of one which
	// takes no writes.
	gainPercent  = 5
	gainWhenFull = 1
	// smallFile is too little to defragment for at a start, in bytes.
	smallFile = 16 << 20
	// DiskMargin is how much of the file system shall be free, in bytes. Without any left
	// etcd ends the process.
	DiskMargin = 256 << 20
)

// Space is how much of what there is a member takes, in bytes.
type Space struct {
	// Size is the size of the file, which is what the quota limits; InUse is the part of
	// it that holds data.
	Size, InUse int64
	// Quota is the size from which on deletions only are taken.
	Quota int64
	// Stopped is true from when etcd's own limit was reached, beyond the quota, until there
	// is room again. Until then etcd refuses all writes.
	Stopped bool
	// DiskFree is what is free in the file system, unknown for an etcd cluster.
	DiskFree int64
}

// level orders how urgent things are.
type level int

const (
	enough level = iota
	scarce
	reserved
	full
	deletionsOnly
	refusing
)

func (s Space) level() level {
	switch {
	case s.Stopped:
		return refusing
	case s.Size >= s.percent(deletionPercent):
		return deletionsOnly
	case s.Size >= s.percent(fullPercent):
		return full
	case s.Size >= s.percent(reservePercent):
		return reserved
	case s.nearQuota(), s.DiskFree != unknown && s.DiskFree < DiskMargin:
		return scarce
	default:
		return enough
	}
}

// Err says what is scarce, nil while nothing is.
func (s Space) Err() error {
	switch s.level() {
	case refusing:
		return fmt.Errorf("etcd is full and takes no writes: %s", s)
	case full, deletionsOnly:
		return fmt.Errorf("etcd is full and takes deletions only: %s", s)
	case reserved:
		return fmt.Errorf("etcd has room for updates and deletions only: %s", s)
	case scarce:
		if s.nearQuota() {
			return fmt.Errorf("etcd is nearly full: %s", s)
		}
		return fmt.Errorf("the file system of etcd is nearly full, and the server ends when it is: %s", s)
	default:
		return nil
	}
}

// String is for logs and messages.
func (s Space) String() string {
	text := fmt.Sprintf("%s of the quota of %s, %s of it in use", mib(s.Size), mib(s.Quota), mib(s.InUse))
	if s.DiskFree == unknown {
		return text
	}
	return fmt.Sprintf("%s, %s of disk free", text, mib(s.DiskFree))
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// used returns the used part of the quota.
func (s Space) used() float64 { return float64(s.Size) / float64(s.Quota) }

func (s Space) percent(p int64) int64 { return s.Quota / 100 * p }

// nearQuota reports whether most of the quota is used.
func (s Space) nearQuota() bool { return s.Size > 0 && s.Size >= s.percent(warnPercent) }

// pressed is true when history has to go to make room.
func (s Space) pressed() bool { return s.Stopped || s.Size >= s.percent(pressPercent) }

// fragmented tells whether to write the file anew, which stops all other work and takes
// as much of the disk as is in use. A start can do it for less, as nobody waits yet.
func (s Space) fragmented(starting bool) bool {
	free := s.Size - s.InUse
	switch {
	case s.DiskFree < s.InUse+s.InUse/10:
		return false
	case s.level() >= full:
		return free >= s.percent(gainWhenFull)
	case s.pressed():
		return free >= s.percent(gainPercent)
	default:
		return starting && s.Size >= smallFile && free > s.InUse
	}
}

// recovered is true when a member that had stopped can take writes again: users cannot fill
// it any more, and what they delete takes some.
func (s Space) recovered() bool { return s.Stopped && s.Size < s.percent(limitPercent-gainWhenFull) }

// LimitOf returns etcd's own limit for a quota. Half of the room in between is for writes of the
// server itself, the rest for deletions, most of which change an object before they remove it.
func LimitOf(quota int64) int64 { return quota + quota/10 }

// QuotaOf returns the quota for etcd's own limit.
func QuotaOf(limit int64) int64 {
	if limit <= 0 {
		return noQuota
	}
	return limit - limit/11
}

// Disk returns the size of the file system of dir and its free space, in bytes.
func Disk(dir string) (size, free int64, err error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0, fmt.Errorf("reading the free space in %s: %w", dir, err)
	}
	return int64(fs.Blocks) * int64(fs.Bsize), int64(fs.Bavail) * int64(fs.Bsize), nil
}

// DefaultQuota returns the quota for a file system of this size: the file exists twice during a
// defragmentation.
func DefaultQuota(fileSystem int64) int64 {
	return min(max((fileSystem-besideData)/2, minDefaultQuota), MaxQuota)
}
