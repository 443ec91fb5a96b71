// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"strings"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ImageFiles manages copies of image files on the datastores of one hypervisor. An error is a NotUsableError if the
// hypervisor has responded. Any other error means that the state is unknown.
type ImageFiles interface {
	// Locate finds the content library item of a cache, which must have a usable descriptor, and the location of its
	// copies. If no item has the name any more, the item may have been renamed. Then Locate uses the item of the
	// previous location, if that item still exists.
	Locate(ctx context.Context, source vmv1alpha1.ContentLibraryImageSource, location vmv1alpha1.VirtualMachineImageCacheLocation, before CacheLocation) (ImageCopyLocation, error)
	// Copy creates a directory, which must not exist, and copies the image files to it. It returns when all files are
	// complete. The files must not be used before that. It reports its progress in percent. A file that the library has
	// not downloaded yet is downloaded first. The directory may exist after an error.
	Copy(ctx context.Context, place ImageCopyLocation, directory string, progress func(percent int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error)
	// Missing returns the names of the files that no longer exist.
	Missing(ctx context.Context, place ImageCopyLocation, directory string, files []vmv1alpha1.VirtualMachineImageCacheFile) ([]string, error)
	// Remove removes a directory of this server and its content. It succeeds if the directory does not exist. The error
	// is an ImageInUseError while a disk of any virtual machine has a parent in the directory, or while a disk is being
	// created from it. If the use cannot be determined, nothing is removed.
	Remove(ctx context.Context, datastoreID, directory string) error
	// Directories returns all directories of this server on all datastores that are reachable now.
	Directories(ctx context.Context) ([]ImageDirectory, error)
	// InUse returns the users of directories on a datastore, according to the same rules as Remove.
	InUse(ctx context.Context, datastoreID string, directories []string) (map[string]string, error)
	// Space returns the space of the datastores, by datastore ID.
	Space(ctx context.Context) (map[string]ImageSpace, error)
	// LastUsed returns the last time when the create of a virtual machine from a directory was started. It is zero if
	// none was started since this process connected to the hypervisor.
	LastUsed(directory string) time.Time
}

// KindImageLocation is the kind of image cache locations. The image cache controller assigns their names.
const KindImageLocation Kind = "ImageLocation"

// Kinds of operations on copies of images, as used in messages.
const (
	ImageCopy       = "copy an image"
	ImageRemoval    = "remove copies of an image"
	ImageCollection = "remove copies without a cache"
)

// ImageOperation is an operation on directories of copies.
type ImageOperation struct {
	// Kind is one of the constants above. Operations with the same Kind and Detail are retries of each other.
	Kind, Detail string
	// Directory is the directory to change.
	Directory string
	// Run runs the operation. It calls progress with the completed percentage.
	Run func(ctx context.Context, progress func(percent int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error)
	// Progress is in percent, in steps of ten. Files and Err are the outcome if Ended is true.
	Progress int32
	Ended    bool
	Files    []vmv1alpha1.VirtualMachineImageCacheFile
	Err      error
}

// ImageOperator runs operations on copies of images, one per location at a time. Their number is limited, and failed
// operations are retried with increasing delays. An event for the location follows when an operation makes progress or
// ends.
type ImageOperator interface {
	// ImageOperations returns the running operations, and the ended ones until EndImageOperation is called, by
	// location.
	ImageOperations() map[string]ImageOperation
	// StartImageOperation starts an operation. The error is ErrReconcileInProgress if the location already has an
	// operation, and ErrTooManyOperations if no slot is free. It is a RequeueError, joined with the last failure, if
	// the operation must wait for another reason.
	StartImageOperation(ctx context.Context, location string, op ImageOperation) error
	// EndImageOperation interrupts a running operation of a location, and removes an ended one.
	EndImageOperation(location string)
}

// ErrNoSpace is returned if a datastore does not have enough free space for a copy.
var ErrNoSpace = errors.New("the datastore does not have enough free space")

// ImageDirectory is a directory of copies.
type ImageDirectory struct {
	// DatastoreID is the managed object ID of the datastore. Directory is the datastore path.
	DatastoreID, Directory string
}

// ImageSpace is the space of a datastore in bytes.
type ImageSpace struct{ Free, Capacity int64 }

// SameDirectory reports whether two datastore paths refer to the same directory of copies. Directory names are unique,
// but a datastore can be renamed, so the datastore's name is ignored.
func SameDirectory(a, b string) bool {
	_, a, _ = strings.Cut(a, "] ")
	_, b, _ = strings.Cut(b, "] ")
	return a != "" && a == b
}

// ImageCopyLocation identifies the copies of an image version on a datastore.
type ImageCopyLocation struct {
	// DatastoreID is the managed object ID of the datastore. ProfileID is the ID of the storage policy, or empty.
	DatastoreID, ProfileID string
	// ItemID and ContentVersion identify the item and its content.
	ItemID, ContentVersion string
	// Directory is the prefix of the datastore paths of these copies; a hyphen and a suffix follow. It is unique to
	// this server.
	Directory string
}

// Contains reports whether directory contains these copies, even if the datastore was renamed.
func (p ImageCopyLocation) Contains(directory string) bool {
	_, have, _ := strings.Cut(directory, "] ")
	_, want, _ := strings.Cut(p.Directory, "] ")
	return directory != "" && strings.HasPrefix(have, want+"-")
}

// WithCurrentDatastore returns path with the current name of the datastore.
func (p ImageCopyLocation) WithCurrentDatastore(path string) string {
	name, _, _ := strings.Cut(p.Directory, "] ")
	if _, rest, ok := strings.Cut(path, "] "); ok {
		return name + "] " + rest
	}
	return path
}

// ImageInUseError is returned if a directory of copies is in use.
type ImageInUseError struct {
	// By describes the user of the directory.
	By string
}

// Error implements error.
func (e *ImageInUseError) Error() string { return "it is in use by " + e.By }
