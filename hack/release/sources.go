// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// sources are what is built.
type sources struct {
	// made is when they were committed: what is built carries this time, since that of the
	// build would make every image another one.
	made time.Time
	// revision of git, with -dirty if something is not committed; empty outside of a checkout.
	revision string
}

// readSources asks SOURCE_DATE_EPOCH and git.
func readSources(ctx context.Context, root string) (sources, error) {
	var s sources
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	seconds, stated := os.LookupEnv("SOURCE_DATE_EPOCH")
	if revision, err := git("rev-parse", "HEAD"); err == nil {
		s.revision = revision
		changes, err := git("status", "--porcelain")
		if err != nil {
			return s, fmt.Errorf("asking git what is not committed: %w", err)
		}
		if changes != "" {
			s.revision += "-dirty"
		}
		if !stated {
			if seconds, err = git("log", "-1", "--format=%ct"); err != nil {
				return s, fmt.Errorf("asking git for the time of the commit: %w", err)
			}
		}
	} else if !stated {
		return s, fmt.Errorf("%s is no checkout of git: set SOURCE_DATE_EPOCH to when its sources were written, in seconds since 1970", root)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("SOURCE_DATE_EPOCH=%q: want seconds since 1970", seconds)
	}
	s.made = time.Unix(n, 0).UTC()
	return s, nil
}
