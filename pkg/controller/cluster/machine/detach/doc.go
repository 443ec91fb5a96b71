// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package detach checks whether volumes are attached to the Node of a Machine that is being deleted. A disk that is
// attached to a VM may be deleted together with the VM.
//
// The package changes nothing: the attach-detach controller and the CSI driver detach the volumes.
//
// A volume must be waited for if the Node or a VolumeAttachment reports it as attached. This includes volumes without a
// PersistentVolume or claim, because their state is unknown. Claims of Pods that the drain skips are excluded, because
// these Pods keep running; this includes generic ephemeral volumes. Claims of other Pods are waited for even if the
// Pods no longer exist.
//
// The wait ends if the Node is deleted, or if its kubelet no longer reports, because nothing would be detached. It does
// not end if the Node could not be read.
//
// Objects are listed in pages, with limits of number and time. Messages name at most five objects of a kind.
package detach
