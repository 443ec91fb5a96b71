// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release creates the published files: only the container image of the server (image), or everything (all).
// It is run by make image and make release; docs/contributing/releasing.md describes the results.
//
//	usage: release -version=v0.1.0 [-platforms=linux/amd64] [-push=host/name:tag] image|all [flags of go build]
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/image"
)

// version is the format that image tags and krew accept.
var version = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	r := release{programs: map[string]built{}, checksums: map[string][sha256.Size]byte{}}
	var platforms string
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.root, "root", "../..", "Directory of the repository.")
	flags.StringVar(&r.out, "out", "", "Output directory. If empty, dist in the repository.")
	flags.StringVar(&r.version, "version", "", "Version to stamp, for example v0.1.0.")
	flags.StringVar(&r.push, "push", "", "Reference to which the image is pushed, as host/name:tag. If empty, the image is not pushed.")
	flags.StringVar(&r.url, "url", "", "Download URL of the files, for krew. If empty, the URL of the GitHub release.")
	flags.StringVar(&platforms, "platforms", "", fmt.Sprintf("Platforms of %v, separated by commas. If empty, all.", build.All))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := r.complete(ctx, platforms); err != nil {
		return err
	}
	what := flags.Arg(0)
	if what != "image" && what != "all" {
		return fmt.Errorf("unknown argument %q: must be image or all", what)
	}
	r.flags = flags.Args()[1:]
	if what == "all" {
		return r.all(ctx)
	}
	_, err := r.image(ctx)
	return err
}

// complete checks the flags and sets defaults.
func (r *release) complete(ctx context.Context, platforms string) (err error) {
	if !version.MatchString(r.version) {
		return fmt.Errorf("-version=%q: must be a version such as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	if r.platforms, err = build.Parse(platforms); err != nil {
		return fmt.Errorf("-platforms: %w", err)
	}
	if r.push != "" {
		if _, err := image.Tag(r.push); err != nil {
			return fmt.Errorf("-push: %w", err)
		}
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return fmt.Errorf("-root: %w", err)
	}
	if r.url == "" {
		r.url = "https://github.com/slipway-dev/slipway/releases/download/" + r.version
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist")
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return fmt.Errorf("creating the output directory: %w", err)
	}
	r.sources, err = readSources(ctx, r.root)
	return err
}
