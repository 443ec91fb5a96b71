// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// CacheLocation is a location where copies of an image are needed.
type CacheLocation struct {
	// VCenter is the name of the VCenter.
	VCenter string
	// DatastoreID is the managed object ID of the datastore. ProfileID is the ID of the storage policy, or empty.
	DatastoreID, ProfileID string
}

// String returns the value of the annotation that identifies the location.
func (p CacheLocation) String() string { return p.VCenter + "," + p.DatastoreID + "," + p.ProfileID }

// ParseCacheLocation parses the result of String. It returns false for any other text.
func ParseCacheLocation(text string) (CacheLocation, bool) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return CacheLocation{}, false
	}
	return CacheLocation{VCenter: parts[0], DatastoreID: parts[1], ProfileID: parts[2]}, true
}

// StatusIn returns the status of the location in cache, or nil if cache does not have the location.
func (p CacheLocation) StatusIn(cache *vmv1alpha1.VirtualMachineImageCache) *vmv1alpha1.VirtualMachineImageCacheLocationStatus {
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

// ImageCacheName returns the name of the VirtualMachineImageCache for a content library item.
func ImageCacheName(of vmv1alpha1.ContentLibraryImageSource) string {
	sum := sha256.Sum256([]byte(of.Library + "\x00" + of.Item))
	return "vmi-" + hex.EncodeToString(sum[:10])
}
