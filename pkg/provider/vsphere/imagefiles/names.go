// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
)

// Top is the directory at the top of each datastore that all copies are in.
const Top = "slipway-images"

// digits is the length of a hash in a name.
const digits = 17

// hash is a name for anything, of digits that every datastore takes.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// directoryOf is what the names of directories of the same copies begin with.
func directoryOf(owner, item, version, profile string) string {
	name := hash(owner) + "-" + hash(item) + "-" + hash(version)
	if profile != "" {
		name += "-" + hash(profile)
	}
	return name
}

// named is how directories of copies are named, the hash of their owner first.
var named = regexp.MustCompile(`^([0-9a-f]{17})-[0-9a-f]{17}-[0-9a-f]{17}(-[0-9a-f]{17})?-[a-z2-7]{8}$`)

// owns is true of a datastore path of a directory that this server has made, and nobody
// else: what is removed has to be one.
func (f *Files) owns(directory string) bool {
	above, name := datastore.Split(directory)
	match := named.FindStringSubmatch(name)
	_, top, ok := strings.Cut(above, "] ")
	return ok && top != "" && !strings.Contains(top, "/") && match != nil && f.opts.Owner != "" && match[1] == hash(f.opts.Owner)
}
