// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc reads the CPU time and memory of processes from /proc of Linux.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc on Linux.
const clockTick = 10 * time.Millisecond

// CPUTime returns the time that a process has spent in user and system mode.
func CPUTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may contain spaces. utime and stime are the 12th and 13th fields after it.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	if userErr != nil || systemErr != nil {
		return 0, fmt.Errorf("/proc/%d/stat has no CPU times: %q", pid, data)
	}
	return time.Duration(user+system) * clockTick, nil
}

// Resident reads the two parts of the resident memory of a process, in bytes.
func Resident(pid int) (anonymous, file float64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	sizes := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) == 2 && fields[1] == "kB" {
			n, err := strconv.ParseFloat(fields[0], 64)
			if err != nil {
				return 0, 0, fmt.Errorf("/proc/%d/status: %s", pid, line)
			}
			sizes[name] = n * 1024
		}
	}
	return sizes["RssAnon"], sizes["RssFile"] + sizes["RssShmem"], nil
}
