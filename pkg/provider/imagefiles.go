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

// ImageFiles keeps copies of the files of images on the datastores of one hypervisor. An
// error is a NotUsableError where the hypervisor has answered, and any other where it has
// not: then nothing is known.
type ImageFiles interface {
	// Locate finds what a cache names: the item, with a descriptor that can be used, and the
	// place for its copies. A name that nothing has any more leads to what it has led to
	// before, which was renamed if it is still there.
	Locate(ctx context.Context, source vmv1alpha1.ContentLibraryImageSource, location vmv1alpha1.VirtualMachineImageCacheLocation, before CachePlace) (ImagePlace, error)
	// Copy makes a directory, which must not be there, and copies the files of the image to
	// it. It returns when all are complete; until then none may be used. It tells how far it
	// is, in percent. A file of the image that the hypervisor has not got yet it gets first.
	// After an error the directory may be there.
	Copy(ctx context.Context, place ImagePlace, directory string, progress func(percent int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error)
	// Missing names the files that are not there any more.
	Missing(ctx context.Context, place ImagePlace, directory string, files []vmv1alpha1.VirtualMachineImageCacheFile) ([]string, error)
	// Remove removes a directory of this server with all that is in it; one that is not
	// there is removed. The error is an ImageInUseError while a disk of a virtual machine,
	// whoever's, has a parent in it, or one is being made of it. If that is not known for
	// sure nothing is removed.
	Remove(ctx context.Context, datastoreID, directory string) error
	// Directories are all of this server, on all datastores that can be reached now.
	Directories(ctx context.Context) ([]ImageDirectory, error)
	// InUse names who uses directories of copies on a datastore, as Remove would.
	InUse(ctx context.Context, datastoreID string, directories []string) (map[string]string, error)
	// Space tells of the datastores, by their IDs.
	Space(ctx context.Context) (map[string]ImageSpace, error)
	// LastUsed is when a virtual machine was last begun to be made of the files of a
	// directory, zero for not since this process keeps the hypervisor.
	LastUsed(directory string) time.Time
}

// KindImageLocation is the kind of the locations of image caches. Their names are made by the controller of the caches.
const KindImageLocation Kind = "ImageLocation"

// Kinds of operations on copies of images, in words for messages.
const (
	ImageCopy       = "copy an image"
	ImageRemoval    = "remove copies of an image"
	ImageCollection = "remove copies that no cache names"
)

// ImageOperation changes directories of copies.
type ImageOperation struct {
	// Kind is one of those above. Operations of the same Kind and Detail are repetitions of each other.
	Kind, Detail string
	// Directory that it is about.
	Directory string
	// Run carries it out, and calls progress with the percentage that is done.
	Run func(ctx context.Context, progress func(percent int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error)
	// Progress in percent, in steps of ten. Files and Err are the outcome if it has Ended.
	Progress int32
	Ended    bool
	Files    []vmv1alpha1.VirtualMachineImageCacheFile
	Err      error
}

// ImageOperator runs operations on copies of images, one for each location at a time. Their number is limited, and
// what has failed is tried again later and later. Hints about locations tell of their progress and of their end.
type ImageOperator interface {
	// ImageOperations returns the operations that run, and those that have ended until EndImageOperation, by location.
	ImageOperations() map[string]ImageOperation
	// StartImageOperation starts an operation. The error is ErrReconcileInProgress if the location has one,
	// ErrTooManyOperations while others have to end first, and a RequeueError while it has to wait for another reason,
	// joined with its last failure.
	StartImageOperation(ctx context.Context, location string, op ImageOperation) error
	// EndImageOperation interrupts the operation of a location if it runs, and forgets it if it has ended.
	EndImageOperation(location string)
}

// ErrNoSpace means that a datastore has no room for a copy.
var ErrNoSpace = errors.New("the datastore has no room for it")

// ImageDirectory is a directory of copies.
type ImageDirectory struct {
	// DatastoreID is the managed object ID of its datastore, Directory its datastore path.
	DatastoreID, Directory string
}

// ImageSpace is what a datastore has, in bytes.
type ImageSpace struct{ Free, Capacity int64 }

// SameDirectory is true of two datastore paths of one directory of copies: its name is not
// given twice, but that of its datastore may have changed.
func SameDirectory(a, b string) bool {
	_, a, _ = strings.Cut(a, "] ")
	_, b, _ = strings.Cut(b, "] ")
	return a != "" && a == b
}

// ImagePlace is where copies of an image go, and of what they are.
type ImagePlace struct {
	// DatastoreID is the managed object ID of the datastore, ProfileID the ID of the storage
	// policy, empty without one.
	DatastoreID, ProfileID string
	// ItemID and ContentVersion are the item and the version of its content.
	ItemID, ContentVersion string
	// Directory is what the datastore paths of directories of these very copies begin with:
	// a hyphen and anything follows. No other server has such.
	Directory string
}

// Holds is true of a directory that is one of these copies, whatever the name of its
// datastore was when it was made.
func (p ImagePlace) Holds(directory string) bool {
	_, have, _ := strings.Cut(directory, "] ")
	_, want, _ := strings.Cut(p.Directory, "] ")
	return directory != "" && strings.HasPrefix(have, want+"-")
}

// Present is a datastore path with the name that the datastore of the place has now.
func (p ImagePlace) Present(path string) string {
	name, _, _ := strings.Cut(p.Directory, "] ")
	if _, rest, ok := strings.Cut(path, "] "); ok {
		return name + "] " + rest
	}
	return path
}

// ImageInUseError means that a directory of copies is needed.
type ImageInUseError struct {
	// By whom, for people.
	By string
}

// Error implements error.
func (e *ImageInUseError) Error() string { return "it is in use by " + e.By }
