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

// ParentDirectory is the parent directory of all copies on a datastore.
const ParentDirectory = "slipway-images"

// digits is the length of a hash in a name.
const digits = 17

// hash returns a name for a text. All datastores support its characters.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// directoryOf returns the name prefix of directories with the same content.
func directoryOf(owner, item, version, profile string) string {
	name := hash(owner) + "-" + hash(item) + "-" + hash(version)
	if profile != "" {
		name += "-" + hash(profile)
	}
	return name
}

// directoryName matches the names of directories. The first group is the owner's hash.
var directoryName = regexp.MustCompile(`^([0-9a-f]{17})-[0-9a-f]{17}-[0-9a-f]{17}(-[0-9a-f]{17})?-[a-z2-7]{8}$`)

// owns reports whether this server has created a directory. Only such directories may be removed.
func (f *Files) owns(directory string) bool {
	above, name := datastore.Split(directory)
	match := directoryName.FindStringSubmatch(name)
	_, top, ok := strings.Cut(above, "] ")
	return ok && top != "" && !strings.Contains(top, "/") && match != nil && f.opts.Owner != "" && match[1] == hash(f.opts.Owner)
}
