// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-dev/slipway/hack/release/archive"
)

// Chart returns the files of the Helm chart in a directory, as Helm requires, with the version and image of a
// release.
func Chart(files []archive.File, version, image string) ([]archive.File, error) {
	name, digest, _ := strings.Cut(image, "@")
	repository, tag := name, ""
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		repository, tag = name[:i], name[i+1:]
	}
	changes := map[string][][2]string{
		"Chart.yaml":  {{"version", strings.TrimPrefix(version, "v")}, {"appVersion", version}},
		"values.yaml": {{"  repository", repository}, {"  tag", tag}, {"  digest", digest}},
	}
	changed := slices.Clone(files)
	for i, f := range changed {
		for _, c := range changes[f.Name] {
			line := regexp.MustCompile(`(?m)^` + c[0] + `: .*$`)
			if n := len(line.FindAll(f.Data, -1)); n != 1 {
				return nil, fmt.Errorf("%s of the chart has %d lines %q, must have one", f.Name, n, strings.TrimSpace(c[0])+": …")
			}
			f.Data = line.ReplaceAllLiteral(f.Data, fmt.Appendf(nil, "%s: %q", c[0], c[1]))
		}
		delete(changes, f.Name)
		f.Name = path.Join("slipway", f.Name)
		changed[i] = f
	}
	if len(changes) > 0 {
		return nil, fmt.Errorf("files missing in the chart: %v", slices.Sorted(maps.Keys(changes)))
	}
	return changed, nil
}
