// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// MediaType is the media type of a bill of materials.
const MediaType = "application/vnd.cyclonedx+json"

// Of returns the bill of materials of the program at path. made is the time of its sources.
func Of(path, name, version string, made time.Time) ([]byte, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the program: %w", err)
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", path, err)
	}
	sum := sha256.Sum256(program)
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: name, Version: version,
		PackageURL: purl(info.Main.Path, version) + "#" + strings.TrimPrefix(info.Path, info.Main.Path+"/"),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties: settings(info.Settings),
	}
	main.BOMRef = main.PackageURL
	modules := components(info)
	refs := make([]string, 0, len(modules))
	for _, m := range modules {
		refs = append(refs, m.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(sum)
	bom.Metadata = &cdx.Metadata{Timestamp: made.UTC().Format(time.RFC3339), Component: &main}
	bom.Components = &modules
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("writing the bill of %s: %w", path, err)
	}
	return text.Bytes(), nil
}

// components returns the standard library and the modules of a program.
func components(info *debug.BuildInfo) []cdx.Component {
	std := strings.TrimPrefix(info.GoVersion, "go")
	all := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "stdlib", Version: std, PackageURL: "pkg:golang/stdlib@" + std, BOMRef: "pkg:golang/stdlib@" + std}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version)}
		c.BOMRef = c.PackageURL
		if m.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.Sum}}
		}
		all = append(all, c)
	}
	return all
}

// settings returns the build settings without the linker flags, which contain the version.
func settings(all []debug.BuildSetting) *[]cdx.Property {
	kept := []cdx.Property{}
	for _, s := range all {
		if s.Key != "-ldflags" {
			kept = append(kept, cdx.Property{Name: "go.build:" + s.Key, Value: s.Value})
		}
	}
	return &kept
}

// purl returns the package URL of a module. It must be in lower case with + escaped.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serial returns the serial number of the bill. It is derived from the program, so that it is reproducible: a UUID of
// version 8.
func serial(sum [sha256.Size]byte) string {
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
