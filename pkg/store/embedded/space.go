// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

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

	// Of the quota, in percent: where the log and the readiness begin to tell of it,
	// where history is given up to win room, where objects can no longer be created, and
	// where nothing can be changed but what is being deleted. etcd refuses all writes, those
	// that a deletion takes as well, at limitPercent: it is not to come to that.
	warnPercent    = 80
	pressPercent   = 90
	reservePercent = 95
	fullPercent    = 100
	limitPercent   = 110
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
	// By names the other members that have reached it, which stops this one, too.
	By string
	// DiskFree is what is free in the file system.
	DiskFree int64
}

// level orders how urgent things are.
type level int

const (
	enough level = iota
	scarce
	reserved
	full
	refusing
)

// Names of levels, for metrics, events and messages.
var levelNames = map[level]string{enough: "Enough", scarce: "Scarce", reserved: "Reserved", full: "Full", refusing: "Stopped"}

// Level names how urgent it is: Enough, Scarce, Reserved (for updates and deletions), Full
// (but for deletions), Stopped.
func (s Space) Level() string { return levelNames[s.level()] }

func (s Space) level() level {
	switch {
	case s.Stopped:
		return refusing
	case s.Size >= s.percent(fullPercent):
		return full
	case s.Size >= s.percent(reservePercent):
		return reserved
	case s.Size >= s.percent(warnPercent), s.DiskFree < DiskMargin:
		return scarce
	default:
		return enough
	}
}

// Err says what is scarce, nil while nothing is.
func (s Space) Err() error {
	switch s.level() {
	case refusing:
		if s.By != "" {
			return fmt.Errorf("the embedded etcd takes no writes, for its member %s is full; here it has %s", s.By, s)
		}
		return fmt.Errorf("the embedded etcd is full and takes no writes: %s", s)
	case full:
		return fmt.Errorf("the embedded etcd is full and takes deletions only: %s", s)
	case reserved:
		return fmt.Errorf("the embedded etcd has room for updates and deletions only: %s", s)
	case scarce:
		if s.Size >= s.percent(warnPercent) {
			return fmt.Errorf("the embedded etcd is nearly full: %s", s)
		}
		return fmt.Errorf("the file system of the embedded etcd is nearly full, and the server ends when it is: %s", s)
	default:
		return nil
	}
}

// String is for logs and messages.
func (s Space) String() string {
	return fmt.Sprintf("%s of the quota of %s, %s of it in use, %s of disk free", mib(s.Size), mib(s.Quota), mib(s.InUse), mib(s.DiskFree))
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

func (s Space) percent(p int64) int64 { return s.Quota / 100 * p }

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

// beyond is etcd's own limit for a quota. What is in between is for deletions, most of which
// change an object before it goes, and for what the server itself writes.
func beyond(quota int64) int64 { return quota + quota/10 }

// within is the quota of a limit of etcd.
func within(limit int64) int64 { return limit - limit/11 }

// disk is the size of the file system of dir and what is free in it, in bytes.
func disk(dir string) (size, free int64, err error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0, fmt.Errorf("asking for the space in %s: %w", dir, err)
	}
	return int64(fs.Blocks) * int64(fs.Bsize), int64(fs.Bavail) * int64(fs.Bsize), nil
}

// defaultQuota is the quota for a file system of this size: the file is there twice while
// it is defragmented.
func defaultQuota(fileSystem int64) int64 {
	return min(max((fileSystem-besideData)/2, minDefaultQuota), MaxQuota)
}
