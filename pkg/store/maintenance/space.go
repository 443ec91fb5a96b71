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
	// MinQuota is the smallest usable quota, in bytes.
	MinQuota = 64 << 20
	// minDefaultQuota is the minimum of the default, even on a small file system, in bytes.
	minDefaultQuota = 256 << 20
	// logSpace is the space of the write-ahead log and its preallocated files, in bytes.
	logSpace = 512 << 20

	// noQuota is the quota of an etcd that does not report one.
	noQuota = 1 << 60
	// unknown is the free space of a file system that this process cannot see.
	unknown = -1

	// The thresholds are percentages of the quota. From warnPercent the log and the readiness check report it. From
	// pressPercent history is compacted. From reservePercent no object can be created. From fullPercent users can change
	// only objects that are being deleted, and from deletionPercent this also applies to the server. At limitPercent etcd
	// refuses all writes, including those that a deletion needs.
	warnPercent     = 80
	pressPercent    = 90
	reservePercent  = 95
	fullPercent     = 100
	deletionPercent = 105
	limitPercent    = 110
	// gainPercent is the minimum gain for which a serving member is defragmented, because it does not answer meanwhile.
	// gainWhenFull is the minimum gain for a member that accepts no writes.
	gainPercent  = 5
	gainWhenFull = 1
	// smallFile is the file size below which a start does not defragment, in bytes.
	smallFile = 16 << 20
	// DiskMargin is the minimum free space of the file system, in bytes. If the file system is full, etcd ends the process.
	DiskMargin = 256 << 20
)

// Space is the space that a member uses and may use, in bytes.
type Space struct {
	// Size is the size of the file, which the quota limits. InUse is the part of it that contains data.
	Size, InUse int64
	// Quota is the size from which only deletions are accepted.
	Quota int64
	// Stopped is true after etcd's own limit was reached, which is higher than the quota, until there is space again. Meanwhile
	// etcd refuses all writes.
	Stopped bool
	// DiskFree is the free space of the file system. It is unknown for an etcd cluster.
	DiskFree int64
}

// level is how scarce the space is.
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

// Err returns an error if space is scarce, else nil.
func (s Space) Err() error {
	switch s.level() {
	case refusing:
		return fmt.Errorf("etcd is full and accepts no writes: %s", s)
	case full, deletionsOnly:
		return fmt.Errorf("etcd is full and accepts only deletions: %s", s)
	case reserved:
		return fmt.Errorf("etcd has space only for updates and deletions: %s", s)
	case scarce:
		if s.nearQuota() {
			return fmt.Errorf("etcd is nearly full: %s", s)
		}
		return fmt.Errorf("the file system of etcd is nearly full, and the server will end when it is full: %s", s)
	default:
		return nil
	}
}

// String returns a text for logs and messages.
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

// pressed reports whether history must be compacted to free space.
func (s Space) pressed() bool { return s.Stopped || s.Size >= s.percent(pressPercent) }

// fragmented reports whether the member should be defragmented. A defragmentation blocks all requests and needs as much disk space
// as the data in use. At a start, no request waits, so that a smaller gain is enough.
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

// recovered reports whether a stopped member can accept writes again: users cannot fill it, and deletions need some space.
func (s Space) recovered() bool { return s.Stopped && s.Size < s.percent(limitPercent-gainWhenFull) }

// LimitOf returns etcd's own limit for a quota. Half of the space in between is for writes of the server, the rest for deletions,
// most of which change an object before they remove it.
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
	return min(max((fileSystem-logSpace)/2, minDefaultQuota), MaxQuota)
}
