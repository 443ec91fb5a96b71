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

// sources describes the sources of a release.
type sources struct {
	// made is the commit time. It is used for all files, so that builds are reproducible.
	made time.Time
	// revision is the git revision, with the suffix -dirty for uncommitted changes. It is empty outside of a git
	// repository.
	revision string
}

// readSources reads SOURCE_DATE_EPOCH and the git repository.
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
			return s, fmt.Errorf("running git status: %w", err)
		}
		if changes != "" {
			s.revision += "-dirty"
		}
		if !stated {
			if seconds, err = git("log", "-1", "--format=%ct"); err != nil {
				return s, fmt.Errorf("reading the commit time: %w", err)
			}
		}
	} else if !stated {
		return s, fmt.Errorf("%s is not a git repository: set SOURCE_DATE_EPOCH to the time of the sources in seconds since 1970", root)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("SOURCE_DATE_EPOCH=%q: must be seconds since 1970", seconds)
	}
	s.made = time.Unix(n, 0).UTC()
	return s, nil
}
