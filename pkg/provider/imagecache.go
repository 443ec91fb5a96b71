// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// CachePlace is where copies of an image are needed.
type CachePlace struct {
	// VCenter is the name of the VCenter.
	VCenter string
	// DatastoreID and ProfileID are the managed object ID of the datastore and the ID of
	// the storage policy, empty without one.
	DatastoreID, ProfileID string
}

// String is the value of the annotation that names the place.
func (p CachePlace) String() string { return p.VCenter + "," + p.DatastoreID + "," + p.ProfileID }

// ParseCachePlace reads what String wrote. It is false for anything else.
func ParseCachePlace(text string) (CachePlace, bool) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return CachePlace{}, false
	}
	return CachePlace{VCenter: parts[0], DatastoreID: parts[1], ProfileID: parts[2]}, true
}

// In returns what the cache says of the place, nil if it does not know it.
func (p CachePlace) In(cache *vmv1alpha1.VirtualMachineImageCache) *vmv1alpha1.VirtualMachineImageCacheLocationStatus {
	if cache == nil {
		return nil
	}
	for i := range cache.Status.Locations {
		l := &cache.Status.Locations[i]
		if l.VCenter == p.VCenter && l.DatastoreID == p.DatastoreID && l.ProfileID == p.ProfileID {
			return l
		}
	}
	return nil
}

// ImageCacheName is the name of the VirtualMachineImageCache that is made for an item of a
// content library.
func ImageCacheName(of vmv1alpha1.ContentLibraryImageSource) string {
	sum := sha256.Sum256([]byte(of.Library + "\x00" + of.Item))
	return "vmi-" + hex.EncodeToString(sum[:10])
}
