// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/hack/release/archive"
	"github.com/slipway-dev/slipway/hack/release/build"
	"github.com/slipway-dev/slipway/hack/release/krew"
	"github.com/slipway-dev/slipway/hack/release/manifests"
)

// all creates all published files: image, programs, manifests and checksums.
func (r *release) all(ctx context.Context) error {
	if !slices.ContainsFunc(r.platforms, server.runsOn) {
		return fmt.Errorf("cannot create a release for %v: the server requires at least one Linux platform", r.platforms)
	}
	if err := r.golden(); err != nil {
		return err
	}
	image, err := r.image(ctx)
	if err != nil {
		return err
	}
	var plugins []krew.Archive
	for _, p := range r.platforms {
		if server.runsOn(p) {
			if _, err := r.archive(ctx, p, server); err != nil {
				return err
			}
			if _, err := r.archive(ctx, p, environment...); err != nil {
				return err
			}
		}
		plugin, err := r.archive(ctx, p, virtctl)
		if err != nil {
			return err
		}
		plugins = append(plugins, plugin)
	}
	if err := r.manifests(image); err != nil {
		return err
	}
	if err := r.chart(image); err != nil {
		return err
	}
	manifest, err := krew.Manifest(r.version, r.url, plugins)
	if err != nil {
		return err
	}
	if err := r.write("virt.yaml", manifest); err != nil {
		return err
	}
	return r.sums()
}

// golden checks that golden files of the stored objects of this minor version exist, because later versions are
// tested with them. A pre-release needs none.
func (r *release) golden() error {
	if strings.Contains(r.version, "-") {
		return nil
	}
	minor := r.version[:strings.LastIndex(r.version, ".")] + ".0"
	dir := "pkg/apis/testdata/" + minor
	if files, err := filepath.Glob(filepath.Join(r.root, dir, "*.pb")); err != nil || len(files) == 0 {
		return fmt.Errorf("%s has no golden files of the objects that %s stores, which are needed to test later versions: run go test ./pkg/apis -golden=%s", dir, minor, minor)
	}
	return nil
}

// archive writes the archive of programs, which has the name of the first.
func (r *release) archive(ctx context.Context, p build.Platform, programs ...program) (krew.Archive, error) {
	none := krew.Archive{}
	var files []archive.File
	var packages []build.Package
	for _, what := range programs {
		b, err := r.program(ctx, p, what)
		if err != nil {
			return none, err
		}
		files = append(files, archive.File{Name: p.Executable(what.name), Mode: 0o755, Data: b.data})
		packages = append(packages, b.packages...)
	}
	name := programs[0].name
	licence, err := r.read("LICENSE")
	if err != nil {
		return none, err
	}
	notices, err := r.notices(ctx, packages)
	if err != nil {
		return none, fmt.Errorf("collecting the licenses of %s for %s: %w", name, p, err)
	}
	made := krew.Archive{OS: p.OS, Arch: p.Arch, Program: files[0].Name, Files: []string{"LICENSE", "THIRD_PARTY_NOTICES"}}
	files = append(files,
		archive.File{Name: "LICENSE", Mode: 0o644, Data: licence},
		archive.File{Name: "THIRD_PARTY_NOTICES", Mode: 0o644, Data: notices})
	format, suffix := archive.TarGz, ".tar.gz"
	if p.OS == "windows" {
		format, suffix = archive.Zip, ".zip"
	} else if name == virtctl.name {
		completion, err := r.read("hack/kubectl_complete.sh")
		if err != nil {
			return none, err
		}
		for _, plugin := range []string{"virt", "slipway"} {
			files = append(files, archive.File{Name: "kubectl_complete-" + plugin, Mode: 0o755, Data: completion})
		}
	}
	made.Name = fmt.Sprintf("%s_%s_%s%s", name, r.version, p.Name(), suffix)
	if made.Data, err = format(files, r.made); err != nil {
		return none, fmt.Errorf("writing %s: %w", made.Name, err)
	}
	return made, r.write(made.Name, made.Data)
}

// manifests writes an archive of the deployment manifests with the paths of the repository, so that the documentation
// applies to both. It also writes the base manifests in one file.
func (r *release) manifests(image string) error {
	var files []archive.File
	for _, dir := range []string{"artifacts/deploy", "artifacts/recovery", "artifacts/monitoring", "artifacts/examples"} {
		some, err := archive.Directory(filepath.Join(r.root, dir))
		if err != nil {
			return err
		}
		for _, f := range some {
			f.Name = dir + "/" + f.Name
			files = append(files, f)
		}
	}
	files, err := manifests.WithImage(files, image)
	if err != nil {
		return err
	}
	data, err := archive.TarGz(files, r.made)
	if err != nil {
		return fmt.Errorf("writing the manifests: %w", err)
	}
	if err := r.write(fmt.Sprintf("slipway_%s_manifests.tar.gz", r.version), data); err != nil {
		return err
	}
	joined, err := manifests.Joined(files, "artifacts/deploy/base")
	if err != nil {
		return err
	}
	return r.write("slipway.yaml", joined)
}

// chart writes the Helm chart with the file name that Helm uses.
func (r *release) chart(image string) error {
	files, err := archive.Directory(filepath.Join(r.root, "artifacts/chart/slipway"))
	if err != nil {
		return err
	}
	if files, err = manifests.Chart(files, r.version, image); err != nil {
		return err
	}
	data, err := archive.TarGz(files, r.made)
	if err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return r.write(fmt.Sprintf("slipway-%s.tgz", strings.TrimPrefix(r.version, "v")), data)
}

// sums writes the checksums of all files in the format of sha256sum -c.
func (r *release) sums() error {
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.checksums)) {
		fmt.Fprintf(&list, "%x  %s\n", r.checksums[name], name)
	}
	return r.write("SHA256SUMS", list.Bytes())
}
